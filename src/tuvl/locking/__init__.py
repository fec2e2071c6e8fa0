"""`tuvl.lock`: what a project's runs depend on, as digests and as content a person can review."""

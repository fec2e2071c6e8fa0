"""The same agent, driven by tuvl and by other libraries, against one scripted server."""

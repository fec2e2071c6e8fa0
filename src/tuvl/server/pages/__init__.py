"""Run pages: what the server shows to people in a browser, written on the server; a script keeps them up to date."""

"""Web: the pages of sites, the entries of feeds, and the files of WebDAV servers as sources."""

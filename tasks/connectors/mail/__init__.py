"""Mail: mailboxes as sources."""

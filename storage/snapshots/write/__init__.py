"""Write: one commit of tables, postings and vectors, and the plain files of the newest snapshot."""

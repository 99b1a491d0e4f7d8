"""Deploy: the files of a project for Prefect, Docker and Kubernetes."""

"""Project files: a folder that `prefect deploy --all` takes as it is, for processes, Docker or Kubernetes."""

import json
from pathlib import Path

from docmill.flows.config.kubernetes_files import cluster_yaml, kubernetes_template

IMAGE_FOLDER = "/project"  # the folder of the project in its image

PREFECT_YAML = """\
# The project as Prefect deployments: `prefect deploy --all` in this folder.
name: docmill-project

pull:  # where a worker finds docmill.toml; for a repository, take prefect.deployments.steps.git_clone in its place
  - prefect.deployments.steps.set_working_directory:
      directory: {folder}

deployments:
  - name: docmill
    description: Bring the store up to date with its sources, in one snapshot.
    entrypoint: docmill.flows.ingest.ingest
    parameters:  # each is a field of the form; what is empty here is taken from docmill.toml
      sources: []
      store: ""
      allow_delete: false
      retry: false
    schedules:
      - cron: "0 3 * * *"
        timezone: Etc/UTC
        active: true
    concurrency_limit:  # one writer: a run that is due while another runs is cancelled
      limit: 1
      collision_strategy: CANCEL_NEW
    work_pool:
      name: docmill

  - name: docmill
    description: Measure how well the store answers questions whose answers are known.
    entrypoint: docmill.flows.evaluate.evaluate
    parameters: {{}}  # `questions` is named in the form
    schedules: []
    work_pool:
      name: docmill
"""
GITIGNORE = "store/\nmirrors/\n*.log\n.env\n__pycache__/\n"
IGNORED = "# What docmill leaves out of the sources, in the syntax of .gitignore.\n*.tmp\n*.bak\n"
WELCOME = "# Welcome\n\nPut your documents into this folder, and remove this one.\n"

BY_PROCESS = """\
prefect server start >server.log 2>&1 &           # leave this line out if you have a server
export PREFECT_API_URL=http://127.0.0.1:4200/api
until curl --silent --fail $PREFECT_API_URL/health; do sleep 1; done
prefect work-pool create docmill --type process
prefect deploy --all
prefect worker start --pool docmill >worker.log 2>&1 &
prefect deployment run ingest/docmill --watch     # Prefect's page: http://127.0.0.1:4200"""
BY_DOCKER = """\
docker compose up --build --detach                # server, worker, object store; the worker deploys by itself
docker compose exec worker prefect deployment run ingest/docmill
docker compose exec worker docmill search "welcome"      # Prefect's page: http://127.0.0.1:4200"""
BY_KUBERNETES = """\
export PREFECT_API_URL=https://PREFECT/api        # a server that this shell, the worker and the pods of its jobs reach
docker build -t REGISTRY/docmill-project . && docker push REGISTRY/docmill-project   # name it in work-pool.json
kubectl create secret generic docmill --from-env-file=.env    # write .env first; what it holds is below
prefect work-pool create docmill --type kubernetes --base-job-template work-pool.json
prefect deploy --all
prefect deployment run ingest/docmill             # the run begins once a worker polls the pool"""
AFTER_PROCESS = """\
Search: `docmill search "welcome"`. Without Prefect: `docmill ingest --engine local`.

A worker on another machine needs this folder at the same path, and `PREFECT_API_URL` with the address of the server.
After a change of `prefect.yaml`, type `prefect deploy --all` again. If you move this folder, correct `directory` in it
first."""
AFTER_DOCKER = """\
The store is in MinIO, so search in the worker, as above. `compose.yaml` gives the worker its `PREFECT_API_URL`. For
`prefect` on this machine, type `export PREFECT_API_URL=http://127.0.0.1:4200/api`.

To parse and embed in further containers, begin with
`ENGINE=dask docker compose --profile cluster up --build --detach --scale parser=2`, and look at them with
`docker compose exec worker docmill status --cluster`.

`docs/` is mounted. `docmill.toml` and `prefect.yaml` are in the image: after a change of them, repeat the first
command."""
AFTER_KUBERNETES = """\
`.env` holds one `NAME=VALUE` a line: `DOCMILL_STORE=s3://BUCKET/PREFIX`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`,
`AWS_REGION`. The image holds `docs/`; for documents that change, name a bucket in `sources` of `docmill.toml`.

To parse and embed in further pods, make the secret `docmill-tls` of `ca.pem`, `docmill.pem` and `docmill.key`, an
authority and one certificate that it has signed, add `DOCMILL_ENGINE=dask`, `DOCMILL_CLUSTER__FREIGHT=s3://BUCKET/freight`
and `PREFECT_API_URL` to `.env`, and type `kubectl apply -f cluster.yaml`. It also starts the worker of the pool.

A worker of the pool elsewhere needs the package `prefect-kubernetes` and `PREFECT_API_URL` in its environment. It hands
that address on to each job, so give one that pods reach: 127.0.0.1 is the pod itself.

Search from anywhere with the variables of `.env`: `docmill search "welcome"`."""
README = """\
# Documents, searchable

`docs/` goes in, a store comes out; `docmill.toml` says how. `.docmillignore` says what to leave out.

```
{commands}
```

{after}
"""

DOCKERFILE = f"""\
FROM python:3.11-slim
# A wheel or a URL of docmill: --build-arg DOCMILL=...
ARG DOCMILL="docmill[dask,s3]"
ARG MORE=""
# The extra index has PyTorch without the libraries for GPUs, which are gigabytes.
RUN pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu "$DOCMILL" $MORE
WORKDIR {IMAGE_FOLDER}
COPY . .
ENV DO_NOT_TRACK=1 ARROW_DEFAULT_MEMORY_POOL=system
"""
DOCKERIGNORE = ".env\n.git\nstore\nmirrors\n"
COMPOSE = f"""\
# Prefect's server, a worker with the project, and an object store that holds the documents' store. With the profile
# `cluster`, further containers parse and embed; nothing outside of this project reaches them.
x-docmill: &docmill
  build: .
  image: docmill-project
x-cluster: &cluster
  DOCMILL_CLUSTER__ADDRESS: tcp://scheduler:8786
  DOCMILL_CLUSTER__INSECURE: "true"  # the network of this project is closed: no port of it is published
  DOCMILL_CLUSTER__FREIGHT: s3://docmill/freight
x-s3: &s3
  AWS_ENDPOINT_URL: http://minio:9000
  AWS_REGION: us-east-1
  AWS_ACCESS_KEY_ID: ${{MINIO_USER:-docmill}}
  AWS_SECRET_ACCESS_KEY: ${{MINIO_PASSWORD:-only-on-this-machine}}

services:
  prefect:
    image: prefecthq/prefect:3.8.8-python3.11
    command: prefect server start --host 0.0.0.0
    environment:
      PREFECT_UI_API_URL: http://127.0.0.1:4200/api
      DO_NOT_TRACK: "1"
    ports: ["127.0.0.1:4200:4200"]
    volumes: [prefect:/root/.prefect]
    healthcheck:
      test: [CMD, python, -c, "import urllib.request as u; u.urlopen('http://127.0.0.1:4200/api/health')"]
      interval: 5s
      retries: 24

  minio:
    image: minio/minio:RELEASE.2025-09-07T16-13-09Z
    environment:
      MINIO_ROOT_USER: ${{MINIO_USER:-docmill}}
      MINIO_ROOT_PASSWORD: ${{MINIO_PASSWORD:-only-on-this-machine}}
    entrypoint: [sh, -c, "mkdir -p /data/docmill && exec minio server /data"]  # a folder is a bucket
    volumes: [objects:/data]

  worker:
    <<: *docmill
    command: >-
      sh -c "prefect work-pool create docmill --type process --overwrite
      && prefect deploy --all && exec prefect worker start --pool docmill"
    environment:
      <<: [*s3, *cluster]
      PREFECT_API_URL: http://prefect:4200/api
      DOCMILL_ENGINE: ${{ENGINE:-auto}}
      DOCMILL_STORE: s3://docmill/store
      DOCMILL_MIRRORS: /var/lib/docmill
    volumes:
      - ./docs:{IMAGE_FOLDER}/docs:ro
      - mirrors:/var/lib/docmill
    depends_on:
      prefect: {{condition: service_healthy}}
      minio: {{condition: service_started}}

  scheduler:
    <<: *docmill
    profiles: [cluster]
    command: docmill cluster scheduler tcp://0.0.0.0:8786
    environment: *cluster
    restart: unless-stopped

  parser:
    <<: *docmill
    profiles: [cluster]
    command: docmill worker
    environment:
      <<: [*s3, *cluster]
    depends_on: [scheduler]
    stop_grace_period: 1m
    restart: unless-stopped

volumes: {{prefect: {{}}, objects: {{}}, mirrors: {{}}}}
"""


def project_files(folder: Path, settings: str, *, docker: bool = False, kubernetes: bool = False) -> dict[str, str]:
    """Return the texts of a project's files by their paths in `folder`; `settings` is that of docmill.toml."""
    commands, after = BY_PROCESS, AFTER_PROCESS
    if kubernetes:
        commands, after = BY_KUBERNETES, AFTER_KUBERNETES
    elif docker:
        commands, after = BY_DOCKER, AFTER_DOCKER
    home = IMAGE_FOLDER if docker or kubernetes else str(folder.absolute())
    made = {
        "docmill.toml": settings.replace("#sources = []", 'sources = ["docs"]'),
        "prefect.yaml": PREFECT_YAML.format(folder=json.dumps(home)),
        ".gitignore": GITIGNORE,
        ".docmillignore": IGNORED,
        "README.md": README.format(commands=commands, after=after),
        "docs/welcome.md": WELCOME,
    }
    if docker or kubernetes:
        made |= {"Dockerfile": DOCKERFILE, ".dockerignore": DOCKERIGNORE}
    if docker:
        made["compose.yaml"] = COMPOSE
    if kubernetes:
        made["work-pool.json"] = json.dumps(kubernetes_template(), indent=2) + "\n"
        made["cluster.yaml"] = cluster_yaml()
        # For the worker of the pool, which runs in this image, too.
        made["Dockerfile"] = DOCKERFILE.replace('MORE=""', 'MORE="prefect-kubernetes"')
    return made

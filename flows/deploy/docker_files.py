"""Docker files: the image of a project and a compose file with Prefect's server, a worker and an object store."""

from docmill.flows.deploy.prefect_server_settings import ORIGINS_VARIABLE, SERVER_SETTINGS, own_origins

IMAGE_FOLDER = "/project"  # the folder of the project in its image
PORT = 4200
UID = 1000  # of the user in the image
_MIRRORS = "/var/lib/docmill"
_PREFECT_HOME = "/var/lib/prefect"

WHEELS = """\
# Wheels

The image is built with the wheels in this folder, before those of a package index. To take docmill from a clone:

    pip wheel --no-deps --wheel-dir wheels PATH/OF/THE/CLONE
"""
DOCKERFILE = f"""\
FROM python:3.11-slim
# For pages that are scanned; leave it out if you have none.
RUN apt-get update && apt-get install --yes --no-install-recommends tesseract-ocr && rm -rf /var/lib/apt/lists/*
COPY wheels /wheels
ARG DOCMILL="docmill[dask,s3]"
ARG MORE=""
# The extra index has PyTorch without the libraries for GPUs, which are gigabytes.
RUN pip install --no-cache-dir --find-links /wheels --extra-index-url https://download.pytorch.org/whl/cpu \\
    "$DOCMILL" $MORE
RUN useradd --create-home --uid {UID} docmill \\
    && install --directory --owner docmill {IMAGE_FOLDER} {IMAGE_FOLDER}/store {_MIRRORS} {_PREFECT_HOME}
USER {UID}
WORKDIR {IMAGE_FOLDER}
COPY --chown={UID} . .
ENV DO_NOT_TRACK=1 ARROW_DEFAULT_MEMORY_POOL=system PREFECT_HOME={_PREFECT_HOME}
"""
DOCKERIGNORE = ".env\n.git\nstore\nmirrors\n"

_SERVER = "\n".join(f'      {name}: "{value}"' for name, value in SERVER_SETTINGS.items())
COMPOSE = f"""\
# Prefect's server, a worker with the project, and an object store that holds the documents' store. With the profile
# `cluster`, further containers parse and embed. `.env` has the secrets. One port is published, on loopback: that of
# Prefect, which asks for its secret.
x-docmill: &docmill
  build:
    context: .
    args:
      DOCMILL: ${{DOCMILL:-docmill[dask,s3]}}  # a requirement of pip
      MORE: ${{MORE:-}}  # further packages, such as plugins
  image: docmill-project
  init: true
  restart: unless-stopped
  cap_drop: [ALL]
  security_opt: ["no-new-privileges:true"]
x-parsing: &parsing
  <<: *docmill
  cpus: ${{CPUS:-2}}  # a process parses on each, and may take 2 GB (parse.memory_mb)
  mem_limit: ${{MEMORY:-8g}}  # theirs, and as much for the model and the commit
x-cluster: &cluster
  DOCMILL_CLUSTER__ADDRESS: tls://scheduler:8786
  CLUSTER_PEM: ${{CLUSTER_PEM:?docmill init writes it into .env}}  # key and certificate: anyone who has them may join
  DOCMILL_CLUSTER__TLS_CA: &certificate /tmp/cluster.pem
  DOCMILL_CLUSTER__TLS_CERT: *certificate
  DOCMILL_CLUSTER__TLS_KEY: *certificate
  DOCMILL_CLUSTER__FREIGHT: s3://docmill/freight
x-join: &join [sh, -c, 'umask 077; echo "$$CLUSTER_PEM" | base64 -d > /tmp/cluster.pem; exec "$$0" "$$@"']
x-s3: &s3
  AWS_ENDPOINT_URL: http://minio:9000
  AWS_REGION: us-east-1
  AWS_ACCESS_KEY_ID: docmill
  AWS_SECRET_ACCESS_KEY: &minio ${{MINIO_PASSWORD:?docmill init writes it into .env}}

services:
  prefect:
    <<: *docmill
    command: prefect server start --host 0.0.0.0
    environment:
      PREFECT_SERVER_API_AUTH_STRING: &secret ${{PREFECT_API_AUTH_STRING:?docmill init writes it into .env}}
      {ORIGINS_VARIABLE}: {own_origins(PORT)}
      PREFECT_UI_API_URL: http://127.0.0.1:{PORT}/api
      PREFECT_UI_STATIC_DIRECTORY: {_PREFECT_HOME}/ui  # not in the package, which belongs to root
{_SERVER}
    ports: ["127.0.0.1:{PORT}:{PORT}"]
    volumes: ["prefect:{_PREFECT_HOME}"]
    mem_limit: 2g
    healthcheck:
      test: [CMD, python, -c, "import urllib.request as u; u.urlopen('http://127.0.0.1:{PORT}/api/health')"]
      interval: 5s
      retries: 24

  minio:
    image: minio/minio:RELEASE.2025-09-07T16-13-09Z
    environment:
      MINIO_ROOT_USER: docmill
      MINIO_ROOT_PASSWORD: *minio
    entrypoint: [sh, -c, "mkdir -p /data/docmill && exec minio server /data"]  # a folder is a bucket
    volumes: ["objects:/data"]
    mem_limit: 2g
    restart: unless-stopped
    security_opt: ["no-new-privileges:true"]

  worker:
    <<: *parsing
    command: >-
      sh -c "prefect work-pool create docmill --type process --overwrite
      && prefect deploy --all && exec prefect worker start --pool docmill"
    environment:
      <<: [*s3, *cluster]
      PREFECT_API_URL: http://prefect:{PORT}/api
      PREFECT_API_AUTH_STRING: *secret
      DOCMILL_ENGINE: ${{ENGINE:-auto}}
      DOCMILL_STORE: s3://docmill/store
      DOCMILL_MIRRORS: {_MIRRORS}
    entrypoint: *join
    volumes:
      - ./docs:{IMAGE_FOLDER}/docs:ro
      - mirrors:{_MIRRORS}
    depends_on:
      prefect: {{condition: service_healthy}}
      minio: {{condition: service_started}}

  scheduler:
    <<: *docmill
    profiles: [cluster]
    command: docmill cluster scheduler tls://0.0.0.0:8786
    environment: *cluster
    entrypoint: *join
    mem_limit: 1g

  parser:
    <<: *parsing
    profiles: [cluster]
    command: docmill worker
    environment:
      <<: [*s3, *cluster]
    entrypoint: *join
    depends_on: [scheduler]
    stop_grace_period: 1m

volumes: {{prefect: {{}}, objects: {{}}, mirrors: {{}}}}
"""

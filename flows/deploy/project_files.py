"""Project files: a folder that `prefect deploy --all` takes as it is, for processes, Docker or Kubernetes."""

import json
from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from secrets import token_urlsafe

from docmill.flows.cluster.cluster import self_signed_pem
from docmill.flows.deploy.docker_files import COMPOSE, DOCKERFILE, DOCKERIGNORE, IMAGE_FOLDER, PORT, WHEELS
from docmill.flows.deploy.kubernetes_files import cluster_yaml, kubernetes_template
from docmill.flows.deploy.prefect_server_settings import ORIGINS_VARIABLE, SERVER_SETTINGS, own_origins

SECRETS = ".env"  # only its owner may read it
_BYTES = 24  # of randomness, so that guessing is hopeless
_LASTS = timedelta(days=3650)
"""How long the certificate of a project's cluster is valid: nothing renews it, and without it the cluster stops."""

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
    description: Let judged queries change docmill.toml where that gains beyond chance.
    entrypoint: docmill.flows.learn.learn
    parameters: {{}}
    schedules:
      - cron: "0 2 * * *"
        timezone: Etc/UTC
        active: false  # it changes docmill.toml: switch it on here or on Prefect's page
    concurrency_limit:
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
set -a; . ./.env; set +a                          # the address of the server, and its secret
prefect server start >server.log 2>&1 &           # leave this line out if you have a server
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
set -a; . ./.env; set +a                          # write .env first; what it holds is below
docker build -t REGISTRY/docmill-project . && docker push REGISTRY/docmill-project   # name it in work-pool.json
kubectl create secret generic docmill --from-env-file=.env
prefect work-pool create docmill --type kubernetes --base-job-template work-pool.json
prefect deploy --all
prefect deployment run ingest/docmill             # the run begins once a worker polls the pool"""
AFTER_PROCESS = """\
Search: `docmill search "welcome"`. Without Prefect: `docmill ingest --engine local`.

`.env` has a secret, without which the server answers nobody: Prefect's page asks for the value of
`PREFECT_API_AUTH_STRING`. For a server of your own, write its `PREFECT_API_URL` and secret into `.env`.

A worker on another machine needs this folder at the same path, and the address of the server in its `PREFECT_API_URL`.
After a change of `prefect.yaml`, type `prefect deploy --all` again. If you move this folder, correct `directory` in it
first."""
AFTER_DOCKER = """\
`.env` has the secrets of the server, of MinIO and of the cluster. Prefect's page asks for the value of
`PREFECT_API_AUTH_STRING`.
`compose.yaml` gives the worker its `PREFECT_API_URL`. For `prefect` on this machine, type `set -a; . ./.env; set +a`.
The store is in MinIO, so search in the worker, as above.

The image is built with docmill from its package index. For another one, put its wheel into `wheels/`, or set `DOCMILL`
in `.env` to what pip should install. `MORE` names further packages, such as plugins. A container of a worker may take
two processors and 8 GB of memory: `CPUS` and `MEMORY` in `.env` change that; give 2 GB for each processor, and 4 more.

To parse and embed in further containers, begin with
`ENGINE=dask docker compose --profile cluster up --build --detach --scale parser=2`, and look at them with
`docker compose exec worker docmill status --cluster`.

`docs/` is mounted. `docmill.toml` and `prefect.yaml` are in the image: after a change of them, repeat the first
command."""
AFTER_KUBERNETES = """\
`.env` holds one `NAME=VALUE` a line: `PREFECT_API_URL=https://PREFECT/api` for a server that this shell, the worker and
the pods of its jobs reach, its secret in `PREFECT_API_AUTH_STRING`, `DOCMILL_STORE=s3://BUCKET/PREFIX`,
`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`. The image holds `docs/`; for documents that change, name a
bucket in `sources` of `docmill.toml`.

Start the server with `PREFECT_SERVER_API_AUTH_STRING`, its secret, and with its own origin in
`PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS`. Without them, anyone who reaches it can run code in the pods, and so can any
page in a browser that reaches it.

The image is built with docmill from its package index, or from a wheel in `wheels/`.

To parse and embed in further pods, make the secret `docmill-tls` of `ca.pem`, `docmill.pem` and `docmill.key`, an
authority and one certificate that it has signed, add `DOCMILL_ENGINE=dask` and
`DOCMILL_CLUSTER__FREIGHT=s3://BUCKET/freight` to `.env`, and type `kubectl apply -f cluster.yaml`. It also starts the
worker of the pool.

A worker of the pool elsewhere needs the package `prefect-kubernetes` and the variables of `.env`. It hands the address
of the server on to each job, so give one that pods reach: 127.0.0.1 is the pod itself.

Search from anywhere with the variables of `.env`: `docmill search "welcome"`."""
SECRETS_HEAD = "# Anyone who knows the secrets of this file can run code by this project's worker.\n"
TOLD = {
    "process": (BY_PROCESS, AFTER_PROCESS),
    "docker": (BY_DOCKER, AFTER_DOCKER),
    "kubernetes": (BY_KUBERNETES, AFTER_KUBERNETES),
}
"""The commands of README.md, and what it says after them."""
README = """\
# Documents, searchable

`docs/` goes in, a store comes out; `docmill.toml` says how. `.docmillignore` says what to leave out.

```
{commands}
```

{after}
"""


def project_files(folder: Path, settings: str, *, docker: bool = False, kubernetes: bool = False) -> dict[str, str]:
    """Return the texts of a project's files by path in `folder`; `settings` is the text of docmill.toml."""
    kind = "kubernetes" if kubernetes else "docker" if docker else "process"
    commands, after = TOLD[kind]
    home = str(folder.absolute()) if kind == "process" else IMAGE_FOLDER
    made = {
        "docmill.toml": settings.replace("#sources = []", 'sources = ["docs"]'),
        "prefect.yaml": PREFECT_YAML.format(folder=json.dumps(home)),
        ".gitignore": GITIGNORE,
        ".docmillignore": IGNORED,
        "README.md": README.format(commands=commands, after=after),
        "docs/welcome.md": WELCOME,
    }
    if kind != "process":
        made |= _image_files(kubernetes)
    if kubernetes:
        made |= {"work-pool.json": json.dumps(kubernetes_template(), indent=2) + "\n", "cluster.yaml": cluster_yaml()}
    if docker:
        made["compose.yaml"] = COMPOSE.replace("${MORE:-}", f"${{MORE:-{_more(kubernetes)}}}")
    if kind == "process" or docker:  # the secrets of a cluster are written by hand
        made[SECRETS] = _secrets(docker)
    return made


def _image_files(kubernetes: bool) -> dict[str, str]:
    dockerfile = DOCKERFILE.replace('MORE=""', f'MORE="{_more(kubernetes)}"')
    return {"Dockerfile": dockerfile, ".dockerignore": DOCKERIGNORE, "wheels/README.md": WHEELS}


def _more(kubernetes: bool) -> str:
    """Return the packages in an image besides docmill: a worker of a Kubernetes work pool runs in it, too."""
    return "prefect-kubernetes" if kubernetes else ""


def _secrets(docker: bool) -> str:
    """Return the text of `.env` for a shell, for Docker Compose, and for Prefect, which reads it in its folder."""
    secret = f"docmill:{token_urlsafe(_BYTES)}"
    lines = {"PREFECT_API_URL": f"http://127.0.0.1:{PORT}/api", "PREFECT_API_AUTH_STRING": secret}
    if docker:
        pem = b64encode(self_signed_pem(_LASTS)).decode()  # one line, because kubectl accepts no other
        lines |= {"MINIO_PASSWORD": token_urlsafe(_BYTES), "CLUSTER_PEM": pem}
    else:
        lines |= {"PREFECT_SERVER_API_AUTH_STRING": secret, ORIGINS_VARIABLE: own_origins(PORT), **SERVER_SETTINGS}
    return SECRETS_HEAD + "".join(f"{name}={value}\n" for name, value in lines.items())

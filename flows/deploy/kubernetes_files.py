"""Kubernetes files: a cluster of workers in pods, and the job template of Prefect's work pool."""

import json
from importlib.resources import files
from typing import Any

from docmill.flows.deploy.docker_files import UID

IMAGE = "docmill-project:latest"
_TEMPLATES = "server/api/collections_data/views/aggregate-worker-metadata.json"  # in Prefect's package
_ADDRESS = "tls://docmill-scheduler:8786"
_TLS = "/etc/docmill/tls"
_MIRRORS = "/var/lib/docmill"
_PULL = "Always"  # "latest" names another image after each push
_JOB_TTL_S = 86_400  # a day, so that users can read the log of a job
_RESOURCES = {"requests": {"cpu": "2", "memory": "4Gi"}, "limits": {"cpu": "2", "memory": "8Gi"}}
"""Resources of a container that parses. One process per CPU may use `parse.memory_mb`, 2 GB; the rest is for the model.
"""
_POD_SECURITY = {
    "runAsNonRoot": True,
    "runAsUser": UID,
    "fsGroup": UID,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_NAMES = {
    "DO_NOT_TRACK": "1",
    "DOCMILL_CLUSTER__ADDRESS": _ADDRESS,
    "DOCMILL_CLUSTER__TLS_CA": f"{_TLS}/ca.pem",
    "DOCMILL_CLUSTER__TLS_CERT": f"{_TLS}/docmill.pem",
    "DOCMILL_CLUSTER__TLS_KEY": f"{_TLS}/docmill.key",
}

CLUSTER = f"""\
# Machines that parse and embed for `engine = "dask"`: a scheduler, its workers, and who may reach them. With them, the
# worker that starts a job for each due run. Name your image in place of {IMAGE}.
apiVersion: v1
kind: ConfigMap
metadata: {{name: docmill-cluster}}
data:
{{names}}
---
apiVersion: v1
kind: Service
metadata: {{name: docmill-scheduler}}
spec:
  selector: {{app: docmill, part: scheduler}}
  ports: [{{name: dask, port: 8786, targetPort: 8786}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: docmill-scheduler}}
spec:
  replicas: 1
  strategy: {{type: Recreate}}  # two schedulers would each have a half of the workers
  selector: {{matchLabels: {{app: docmill, part: scheduler}}}}
  template:
    metadata: {{labels: {{app: docmill, part: scheduler}}}}
    spec:
      automountServiceAccountToken: false
      securityContext: {json.dumps(_POD_SECURITY)}
      containers:
        - name: scheduler
          image: {IMAGE}
          imagePullPolicy: {_PULL}
          command: [docmill, cluster, scheduler, "tls://0.0.0.0:8786"]
          envFrom: [{{configMapRef: {{name: docmill-cluster}}}}]
          ports: [{{containerPort: 8786}}]
          readinessProbe: {{tcpSocket: {{port: 8786}}, periodSeconds: 5}}
          resources: {{requests: {{cpu: 250m, memory: 256Mi}}, limits: {{memory: 1Gi}}}}
          securityContext: {json.dumps(_SECURITY)}
          volumeMounts: [{{name: tls, mountPath: {_TLS}, readOnly: true}}]
      volumes: [{{name: tls, secret: {{secretName: docmill-tls}}}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: docmill-worker}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: docmill, part: worker}}}}
  template:
    metadata: {{labels: {{app: docmill, part: worker}}}}
    spec:
      automountServiceAccountToken: false
      securityContext: {json.dumps(_POD_SECURITY)}
      terminationGracePeriodSeconds: 60
      containers:
        - name: worker
          image: {IMAGE}
          imagePullPolicy: {_PULL}
          command: [docmill, worker]  # --resources GPU=1 for workers that embed with cluster.embed_on
          envFrom: [{{configMapRef: {{name: docmill-cluster}}}}, {{secretRef: {{name: docmill}}}}]
          # A process for each CPU may take parse.memory_mb, 2 GB; the model takes the rest.
          resources: {json.dumps(_RESOURCES)}
          securityContext: {json.dumps(_SECURITY)}
          volumeMounts:
            - {{name: tls, mountPath: {_TLS}, readOnly: true}}
            - {{name: scratch, mountPath: /tmp}}
      volumes:
        - {{name: tls, secret: {{secretName: docmill-tls}}}}
        - {{name: scratch, emptyDir: {{}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {{name: docmill}}
spec:  # who has no certificate is refused anyway; who is no pod of docmill does not even get there
  podSelector: {{matchExpressions: [{{key: part, operator: In, values: [scheduler, worker]}}]}}
  policyTypes: [Ingress]
  ingress: [{{from: [{{podSelector: {{matchLabels: {{app: docmill}}}}}}]}}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: docmill-prefect}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: docmill-prefect}}
rules:
  - {{apiGroups: [batch], resources: [jobs], verbs: [get, list, watch, create, update, patch, delete]}}
  - {{apiGroups: [""], resources: [pods, pods/log, pods/status, events], verbs: [get, list, watch]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: docmill-prefect}}
subjects: [{{kind: ServiceAccount, name: docmill-prefect}}]
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: docmill-prefect}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: docmill-prefect}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: docmill, part: prefect}}}}
  template:
    metadata: {{labels: {{app: docmill, part: prefect}}}}
    spec:
      serviceAccountName: docmill-prefect
      securityContext: {json.dumps(_POD_SECURITY)}
      containers:
        - name: worker
          image: {IMAGE}
          imagePullPolicy: {_PULL}
          command: [prefect, worker, start, --pool, docmill]
          envFrom: [{{secretRef: {{name: docmill}}}}]  # PREFECT_API_URL and its secret among them
          resources: {{requests: {{cpu: 250m, memory: 512Mi}}, limits: {{memory: 1Gi}}}}
          securityContext: {json.dumps(_SECURITY)}
"""


def cluster_yaml() -> str:
    """Return the manifests of a cluster."""
    names = "\n".join(f"  {name}: {json.dumps(value)}" for name, value in _NAMES.items())
    return CLUSTER.replace("{names}", names)


def kubernetes_template() -> dict[str, Any]:
    """Return Prefect's job template for Kubernetes with the project's image and the secrets of `docmill`."""
    known = json.loads(files("prefect").joinpath(_TEMPLATES).read_text(encoding="utf-8"))
    template: dict[str, Any] = known["prefect-kubernetes"]["kubernetes"]["default_base_job_configuration"]
    variables = template["variables"]["properties"]
    defaults = {"image": IMAGE, "image_pull_policy": _PULL, "finished_job_ttl": _JOB_TTL_S}
    for kind, amounts in _RESOURCES.items():
        defaults |= {f"{name}_{kind.removesuffix('s')}": amount for name, amount in amounts.items()}
    for name, value in defaults.items():
        variables[name]["default"] = value
    variables["env"]["default"] = {**_NAMES, "DOCMILL_MIRRORS": _MIRRORS}
    pod_template = template["job_configuration"]["job_manifest"]["spec"]["template"]
    pod_template["metadata"] = {"labels": {"app": "docmill", "part": "run"}}  # workers accept these labels
    pod = pod_template["spec"]
    (container,) = pod["containers"]
    pod |= {"automountServiceAccountToken": False, "securityContext": _POD_SECURITY}
    container["securityContext"] = _SECURITY
    container["envFrom"] = [{"secretRef": {"name": "docmill"}}]
    mounts = {"mirrors": _MIRRORS, "tls": _TLS}
    container["volumeMounts"] = [{"name": name, "mountPath": path} for name, path in mounts.items()]
    tls = {"secretName": "docmill-tls", "optional": True}  # missing without a cluster
    pod["volumes"] = [{"name": "mirrors", "emptyDir": {}}, {"name": "tls", "secret": tls}]
    return template

"""What deploy/fleet says, held against itself and the source: parts of the manifests that name each other, how containers are confined, and
every metric of the dashboard and the alerts.

    python fleet.py    in the repository's folder
"""

import json
import pathlib
import re

import promql_parser
import yaml

FOLDER = pathlib.Path("deploy/fleet")
# What a histogram is told as, beside its name.
PARTS = ("_bucket", "_sum", "_count")
# What a panel's expression has that only Grafana knows.
GRAFANA = {"$__rate_interval": "5m", "$job": "taxon-worker"}
PINNED = re.compile(r"^[a-z0-9./:-]*:[0-9]+\.[0-9]+\.[0-9]+[a-z0-9.-]*(@sha256:[0-9a-f]{64})?$")
# `taxon:local` is built here, from this commit.
BUILT = "taxon:local"


def main():
    metrics()
    kubernetes([document for document in yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()) if document])
    compose(yaml.safe_load((FOLDER / "compose.yaml").read_text()))


def metrics():
    table = pathlib.Path("crates/service/src/metrics/table.rs").read_text()
    known = set(re.findall(r'"((?:taxon|process)_[a-z_]+)"', table))
    assert len(known) > 20, "the table of metrics has another form"
    for place, expression in [*panels(), *rules()]:
        for word, stands_for in GRAFANA.items():
            expression = expression.replace(word, stands_for)
        promql_parser.parse(expression)
        named = set(re.findall(r"\b(?:taxon|process)_[a-z_]+", expression))
        assert named, f"{place} names no metric"
        for name in named:
            bases = {name} | {name.removesuffix(part) for part in PARTS if name.endswith(part)}
            assert bases & known, f"{place}: there is no metric {name}"


def panels():
    board = json.loads((FOLDER / "dashboard.json").read_text())
    variables = {variable["name"] for variable in board["templating"]["list"]}
    assert variables == {"datasource", "job"}, variables
    ids, taken = set(), set()
    for panel in board["panels"]:
        assert panel["id"] not in ids and panel["description"] and panel["datasource"]["uid"] == "${datasource}", panel["title"]
        ids.add(panel["id"])
        at = panel["gridPos"]
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, f"{panel['title']} lies over another panel"
        taken |= cells
        for target in panel["targets"]:
            yield f"panel {panel['title']!r}", target["expr"]


def rules():
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["groups"]:
        for rule in group["rules"]:
            assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}, rule
            assert set(rule["annotations"]) == {"summary", "description"} and rule["labels"]["severity"] in ("warning", "critical"), rule
            yield f"alert {rule['alert']}", rule["expr"]


def kubernetes(documents):
    by_kind = {}
    for document in documents:
        name = document["metadata"]["name"]
        assert by_kind.setdefault(document["kind"], {}).setdefault(name, document) is document, f"{name} is there twice"
        namespace = name if document["kind"] == "Namespace" else document["metadata"]["namespace"]
        assert namespace == "taxon", f"{name} is in no namespace of ours"
    pods = {name: by_kind["Deployment"][name]["spec"]["template"] for name in by_kind["Deployment"]}
    for name, template in [*pods.items(), *((name, job["spec"]["template"]) for name, job in by_kind["Job"].items())]:
        pod(name, template["spec"], by_kind)
    for name, deployment in by_kind["Deployment"].items():
        assert selects(deployment["spec"]["selector"], pods[name]), f"{name} selects other pods than its own"
        assert "replicas" not in deployment["spec"], f"{name} would be set back to its count at every change"
    for kind, selector in [("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")]:
        for name, document in by_kind[kind].items():
            assert any(selects(document["spec"][selector], template) for template in pods.values()), f"{kind} {name} selects nothing"
    ports = {port["name"] for template in pods.values() for port in template["spec"]["containers"][0]["ports"]}
    for policy in by_kind["NetworkPolicy"].values():
        assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
        assert {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]} <= ports, "a port that nobody has"
    for scaled in by_kind["ScaledObject"].values():
        scaler(scaled["spec"], by_kind)


def selects(selector, template):
    return selector["matchLabels"].items() <= template["metadata"]["labels"].items()


def pod(name, spec, by_kind):
    assert spec["serviceAccountName"] in by_kind["ServiceAccount"] and spec["automountServiceAccountToken"] is False, name
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == 10001, name
    assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault", name
    volumes = {volume["name"] for volume in spec["volumes"]}
    for container in spec["containers"]:
        assert PINNED.match(container["image"]), f"{name}: {container['image']} is not pinned"
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"] and confined["allowPrivilegeEscalation"] is False, name
        assert confined["capabilities"] == {"drop": ["ALL"]}, name
        assert "memory" in container["resources"]["limits"] and "cpu" in container["resources"]["requests"], name
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes, f"{name}: volumes and mounts differ"
        for source in container["envFrom"]:
            assert "secretRef" in source or source["configMapRef"]["name"] in by_kind["ConfigMap"], name
        ports = {port["name"] for port in container.get("ports", [])}
        for probe in (part["httpGet"] for key, part in container.items() if key.endswith("Probe")):
            assert probe["port"] in ports and probe["path"] == "/metrics", name
    # Secrets are made by hand, and never here.
    assert "Secret" not in by_kind


def scaler(spec, by_kind):
    assert spec["scaleTargetRef"]["name"] in by_kind["Deployment"]
    assert 1 <= spec["minReplicaCount"] < spec["maxReplicaCount"], "without any worker nobody tells what waits"
    [trigger] = spec["triggers"]
    assert trigger["type"] == "nats-jetstream"
    metadata = trigger["metadata"]
    assert all(isinstance(value, str) for value in metadata.values()), "KEDA takes text"
    assert set(metadata) == {"natsServerMonitoringEndpoint", "account", "stream", "consumer", "lagThreshold"}, metadata
    server = (FOLDER / "nats.conf").read_text()
    assert re.search(rf"^  {metadata['account']} {{$", server, re.MULTILINE), "nats.conf has another account"
    assert f"$JS.API.CONSUMER.MSG.NEXT.{metadata['stream']}.{metadata['consumer']}" in server


def compose(file):
    made = (FOLDER / "make-secrets").read_text()
    for secret in file["secrets"].values():
        name = pathlib.PurePath(secret["file"])
        stem = re.sub(r"-[123]$", "-$node", name.stem)
        assert name.parent.name == "secrets" and stem in made, f"make-secrets makes no {name}"
    used = {secret["source"] for service in file["services"].values() for secret in service.get("secrets", [])}
    assert used == set(file["secrets"]), "a secret that nobody has, or that nobody is given"
    for name, service in file["services"].items():
        assert service["image"] == BUILT or PINNED.match(service["image"]), f"{name}: {service['image']} is not pinned"
        assert service["read_only"] and service["cap_drop"] == ["ALL"], f"{name} may do too much"
        assert service["security_opt"] == ["no-new-privileges:true"] and "mem_limit" in service and "pids_limit" in service, name
        # One chowns volumes; the image of taxon has a user of its own.
        assert service["image"] == BUILT or service["user"] == "10002:10002" or service["cap_add"] == ["CHOWN"], f"{name} is root"
        assert "ports" not in service, f"{name} is open to the network"
    users = set(re.findall(r'user: "CN=taxon-([a-z]+)"', (FOLDER / "nats.conf").read_text()))
    assert users == set(re.search(r"for user in ([a-z ]+); do", made)[1].split()), "users of nats.conf, and certificates"
    # No container has another's certificate.
    for name in ["streams", "worker", "feeder", "drainer"]:
        keys = {secret["source"] for secret in file["services"][name]["secrets"] if secret["target"].endswith(".key")}
        assert keys == {f"{name}_key"}, name


main()

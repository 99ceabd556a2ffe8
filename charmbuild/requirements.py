# Prints, for pip, what a pyproject.toml or its uv.lock asks for.
# Arguments: the folder, "extra,…", "group,…". First comes a line "locked" or
# "free": whether what follows is all that there is to install.
import os
import sys

try:
    import tomllib
except ImportError:  # Python 3.10 and older
    from pip._vendor import tomli as tomllib
from pip._vendor.packaging.markers import Marker
from pip._vendor.packaging.requirements import Requirement

folder, extras, groups = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")


def load(name):
    try:
        with open(os.path.join(folder, name), "rb") as f:
            return tomllib.load(f)
    except FileNotFoundError:
        return {}
    except tomllib.TOMLDecodeError as e:
        sys.exit(f"{name}: {e}")


def holds(marker, extra=""):
    return not marker or Marker(marker).evaluate({"extra": extra})


def free(project):
    table = project.get("project", {})
    yield from table.get("dependencies", [])
    for extra in filter(None, extras):
        if extra not in table.get("optional-dependencies", {}):
            sys.exit(f"pyproject.toml: there is no extra {extra!r}")
        yield from table["optional-dependencies"][extra]
    for group in filter(None, groups):
        yield from in_group(project.get("dependency-groups", {}), group, [])


def in_group(table, group, above):
    if group not in table or group in above:
        sys.exit(f"pyproject.toml: there is no dependency group {group!r}, or it is in itself")
    for item in table[group]:
        if isinstance(item, dict):
            yield from in_group(table, item.get("include-group"), [*above, group])
        else:
            yield item


def locked(lock):
    packages = {}
    for p in lock.get("package", []):
        packages.setdefault(p["name"], []).append(p)
    roots = [p for p in lock.get("package", []) if p.get("source", {}).keys() & {"virtual", "editable"}
             and next(iter(p["source"].values())) == "."]
    if len(roots) != 1:
        sys.exit("uv.lock: it has no package that is the project")
    root, found, todo = roots[0], {}, []

    def want(deps):
        for d in deps:
            if holds(d.get("marker")):
                todo.append((pick(d), d.get("extra", [])))

    def pick(dep):
        fits = [p for p in packages.get(dep["name"], []) if dep.get("version", p.get("version")) == p.get("version")
                and dep.get("source", p.get("source")) == p.get("source")
                and (len(packages[dep["name"]]) == 1 or "version" in dep or any(map(holds, p.get("resolution-markers", [""]))))]
        if not fits:
            sys.exit(f"uv.lock: it has no package {dep['name']!r} for this Python")
        return fits[0]

    want(root.get("dependencies", []))
    for extra in filter(None, extras):
        if extra not in root.get("optional-dependencies", {}):
            sys.exit(f"uv.lock: there is no extra {extra!r}")
        want(root["optional-dependencies"][extra])
    for group in filter(None, groups):
        if group not in root.get("dev-dependencies", {}):
            sys.exit(f"uv.lock: there is no dependency group {group!r}")
        want(root["dev-dependencies"][group])
    seen = set()
    while todo:
        package, more = todo.pop()
        name = package["name"]
        if name not in found:
            found[name] = package
            want(package.get("dependencies", []))
        for extra in more:
            if (name, extra) not in seen:
                seen.add((name, extra))
                want(package.get("optional-dependencies", {}).get(extra, []))
    found = [found[name] for name in sorted(found) if found[name] is not root]
    # pip takes hashes for all or for none.
    hashed = all("registry" in p["source"] for p in found)
    for p in found:
        yield line(p, hashed)


def line(p, hashed):
    name, source = p["name"], p["source"]
    if "registry" in source:
        files = [*([p["sdist"]] if "sdist" in p else []), *p.get("wheels", [])]
        hashes = [f["hash"] for f in files if "hash" in f] if hashed else []
        return " ".join([f"{name}=={p['version']}", *(f"--hash={h}" for h in hashes)])
    if "git" in source:
        url, _, commit = source["git"].partition("#")
        return f"{name} @ git+{url.partition('?')[0]}@{commit}"
    if "url" in source:
        return f"{name} @ {source['url']}"
    for kind in ("path", "directory", "editable", "virtual"):
        if kind in source:
            return f"{name} @ file://{os.path.abspath(os.path.join(folder, source[kind]))}"
    sys.exit(f"uv.lock: package {name!r} comes from a source that isn't known here: {', '.join(source)}")


lock = load("uv.lock")
lines = list(locked(lock) if lock else free(load("pyproject.toml")))
for text in [] if lock else lines:
    Requirement(text)  # a mistake is told here, and not by pip as one of a file of ours
print("locked" if lock else "free")
print("\n".join(lines))

# Prints, for pip, what a pyproject.toml, its uv.lock or its poetry.lock asks for.
# Arguments: the folder, "extra,…", "group,…", "uv" or "poetry". First comes a
# line "locked" or "free": whether what follows is all that there is to install.
# Lines "# note: …" are for people.
import os
import sys

try:
    import tomllib
except ImportError:  # Python 3.10 and older
    from pip._vendor import tomli as tomllib
from pip._vendor.packaging.markers import Marker
from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
from pip._vendor.packaging.utils import canonicalize_name

folder, extras, groups = sys.argv[1], sys.argv[2].split(","), sys.argv[3].split(",")


elsewhere = {}  # what is to come from one index alone, by the index's name


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


def sourced(text, uv):
    """A requirement, from where tool.uv.sources has it."""
    try:
        r = Requirement(text)
    except InvalidRequirement as e:
        sys.exit(f"pyproject.toml: {e}")
    named = {canonicalize_name(name): source for name, source in uv.get("sources", {}).items()}
    found = named.get(canonicalize_name(r.name), [])
    if r.marker and not r.marker.evaluate({"extra": ""}):
        return
    for source in found if isinstance(found, list) else [found]:
        if not holds(source.get("marker")):
            continue
        who = r.name + (f"[{','.join(sorted(r.extras))}]" if r.extras else "")
        inside = f"#subdirectory={source['subdirectory']}" if "subdirectory" in source else ""
        if "git" in source:
            at = source.get("rev") or source.get("tag") or source.get("branch")
            yield f"{who} @ git+{source['git']}{'@' + at if at else ''}{inside}"
        elif "url" in source:
            yield f"{who} @ {source['url']}{inside}"
        elif "path" in source:
            yield f"{who} @ file://{os.path.abspath(os.path.join(folder, source['path']))}{inside}"
        elif "index" in source:
            urls = [i["url"] for i in uv.get("index", []) if i.get("name") == source["index"]]
            elsewhere.setdefault(source["index"], []).append(r.name)
            yield from [f"--extra-index-url {url}" for url in urls]
            yield text
        else:
            sys.exit(f"pyproject.toml: tool.uv.sources: {r.name} comes from a source that is known here only by a uv.lock: {', '.join(source)}")
        return
    yield text


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


def poetry(lock, project):
    if not lock:
        sys.exit('there is no poetry.lock: "poetry lock" makes one')
    packages = lock.get("package", [])
    if all("groups" in p for p in packages):  # Poetry 2
        found = [p for p in packages if wanted(p)]
    else:
        found = reached(packages, project)
    hashes = lock.get("metadata", {}).get("files", {})  # where Poetry 1 had them
    for p in found:
        p.setdefault("files", hashes.get(p["name"], []))
    hashed = all(p["files"] and p.get("source", {}).get("type", "legacy") == "legacy" for p in found)
    for p in sorted(found, key=lambda p: p["name"]):
        yield from poetry_line(p, hashed)


def wanted(p):
    markers = p.get("markers", "")
    for group in set(p["groups"]) & set(groups):
        marker = markers.get(group, "") if isinstance(markers, dict) else markers
        if any(holds(marker, extra) for extra in ["", *extras]):
            return True
    return False


def reached(packages, project):
    """What the groups reach, of a lock that doesn't say so."""
    table = project.get("tool", {}).get("poetry", {})
    by_name, found, todo = {}, {}, []
    for p in packages:
        by_name.setdefault(canonicalize_name(p["name"]), []).append(p)

    def want(deps):
        for name, specs in deps.items():
            for spec in specs if isinstance(specs, list) else [specs]:
                spec = spec if isinstance(spec, dict) else {}
                if canonicalize_name(name) != "python" and not spec.get("optional") and holds(spec.get("markers")):
                    todo.append((canonicalize_name(name), spec.get("extras", [])))

    for group in filter(None, groups):
        if group == "main":
            want(table.get("dependencies", {}))
            chosen = [n for e in filter(None, extras) for n in table.get("extras", {}).get(e, [])]
            todo.extend((canonicalize_name(name), []) for name in chosen)
        elif group in table.get("group", {}):
            want(table["group"][group].get("dependencies", {}))
        else:
            sys.exit(f"pyproject.toml: there is no dependency group {group!r}")
    for text in project.get("project", {}).get("dependencies", []) if "main" in groups else []:
        r = Requirement(text)
        if not r.marker or r.marker.evaluate({"extra": ""}):
            todo.append((canonicalize_name(r.name), list(r.extras)))
    seen = set()
    while todo:
        name, more = todo.pop()
        if len(by_name.get(name, [])) != 1:
            sys.exit(f"poetry.lock: it has {len(by_name.get(name, []))} packages {name!r}, and doesn't say which one is meant: lock it with Poetry 2")
        package = by_name[name][0]
        if name not in found:
            found[name] = package
            want(package.get("dependencies", {}))
        for extra in more:
            if (name, extra) not in seen:
                seen.add((name, extra))
                named = [Requirement(t.split(" ")[0]).name for t in package.get("extras", {}).get(extra, [])]
                todo.extend((canonicalize_name(n), []) for n in named)
    return list(found.values())


def poetry_line(p, hashed):
    source = p.get("source", {})
    inside = f"#subdirectory={source['subdirectory']}" if "subdirectory" in source else ""
    kind = source.get("type", "")
    if kind == "git":
        yield f"{p['name']} @ git+{source['url']}@{source['resolved_reference']}{inside}"
    elif kind == "url":
        yield f"{p['name']} @ {source['url']}{inside}"
    elif kind in ("directory", "file"):
        yield f"{p['name']} @ file://{os.path.abspath(os.path.join(folder, source['url']))}"
    else:
        if kind == "legacy":
            if not hashed:  # a hash says which one it is
                elsewhere.setdefault(source["reference"], []).append(p["name"])
            yield f"--extra-index-url {source['url']}"
        yield " ".join([f"{p['name']}=={p['version']}", *(f"--hash={f['hash']}" for f in p["files"] if hashed)])


if sys.argv[4] == "poetry":
    kind, lines = "locked", list(poetry(load("poetry.lock"), load("pyproject.toml")))
elif lock := load("uv.lock"):
    kind, lines = "locked", list(locked(lock))
else:
    project = load("pyproject.toml")
    kind, lines = "free", [line for text in free(project) for line in sourced(text, project.get("tool", {}).get("uv", {}))]
print(kind)
for index, names in elsewhere.items():
    print(f"# note: {', '.join(names)}: looked for in all indexes, not in {index} alone")
print("\n".join(dict.fromkeys(lines)))

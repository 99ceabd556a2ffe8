package check

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
)

// readAll is shop with the schemas of files.
func readAll(files map[string]string) Subject {
	s := shop()
	for _, name := range sortedOf(files) {
		s.schemas = append(s.schemas, schemasIn(name, []byte(files[name]))...)
	}
	return s
}

// told are keys in lines: which databag, which kind, and what the stub's first unit publishes.
func told(e Endpoint, keys []Key) string {
	var lines []string
	for _, k := range keys {
		n := 0
		if k.Where == AppBag {
			n = -1
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s %s", k.Where, k.Kind, e.word(k, n))))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func stubOf(s Subject, name string) Endpoint {
	all := s.stubs()
	return all[slices.IndexFunc(all, func(e Endpoint) bool { return e.Name == name })]
}

const bothBags = `{
	"$defs": {
		"App": {"type": "object", "required": ["url"], "properties": {
			"url": {"type": "string", "format": "uri"},
			"tls": {"anyOf": [{"type": "null"}, {"type": "boolean"}], "default": null},
			"mode": {"enum": ["fast", "slow"]},
			"depth": {"type": "integer", "minimum": 3, "maximum": 9},
			"roles": {"type": "array", "items": {"$ref": "#/$defs/Role"}},
			"version": {"const": "v2"}
		}},
		"Role": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "pattern": "^[a-z]{3}-[0-9]+$"}}}
	},
	"type": "object",
	"properties": {"unit": {"$ref": "#/$defs/Unit"}, "app": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/App"}]}}
}`

func TestSchemasBecomeKeys(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, text, endpoint, want string }{
		{
			"the layout of charm-relation-interfaces, with both databags", "interfaces/sql/v0/schemas/provider.json",
			strings.Replace(bothBags, `"Role":`, `"Unit": {"properties": {"host": {"type": "string", "format": "ipv4"}, "port": {"type": "integer"}}}, "Role":`, 1), "db",
			"app given depth=3\napp given mode=fast\napp given roles=[{\"name\":\"aaa-1\"}]\napp given tls=true\napp given version=v2\napp url url=http://10.77.3.1:8080\n" +
				"unit address host=10.77.3.2\nunit number port=8081",
		},
		{"a databag alone may be of both", "schemas/sql-provider.json", `{"properties": {"user": {"type": "string", "examples": ["relation-14"], "default": ""}}}`, "db", "given user=relation-14"},
		{"an example of the whole", "schemas/sql/provider.json", `{"properties": {"a": {"type": "string"}}, "examples": [{"a": "it's so"}]}`, "db", "given a='it''s so'"},
		{"what somebody keeps to himself is another for each unit", "schemas/sql/provider.json", `{"properties": {"password": {"type": "string", "examples": ["x"]}}}`, "db", "word password=password-of-other-db-0"},
		{"a secret", "schemas/sql/provider.json", `{"properties": {"user": {"type": "string", "examples": ["secret:9m4e2mr0ui3e8a215n4g"]}}}`, "db", "secret user=$DB_USER"},
		{"keys that units have by themselves, and others that can't be", "schemas/sql/provider.json", `{"properties": {"ingress-address": {"type": "string"}, "a b": {"type": "string"}, "x": false, "y": {"const": "a\nb"}, "z": {"const": 1.50}}}`, "db", "given z=1.50"},
		{"the other side's", "interfaces/sql/v0/schemas/requirer.json", `{"properties": {"a": {"type": "string"}}}`, "db", ""},
		{"a file for both sides", "schemas/http.json", `{"properties": {"provider": {"properties": {"a": {"const": "p"}}}, "requirer": {"properties": {"unit": {"properties": {"a": {"const": "r"}}}}}}}`, "web", "unit given a=r"},
		{"no interface is named, and one endpoint has that role", "schemas/requirer.json", `{"properties": {"a": {"const": "r"}}}`, "web", "given a=r"},
		{"a schema of something else", "src/schema.json", `{"properties": {"a": {"const": "r"}}}`, "web", ""},
		{"no schema", "schemas/sql/provider.json", `{"properties": [`, "db", ""},
		{
			"a literal in a library", "lib/charms/pg/v0/sql.py", `
import json
BASE = {"port": {"type": "integer", "minimum": 0x10}}
# PROVIDER_JSON_SCHEMA = {}
PROVIDER_JSON_SCHEMA: dict = {
    "$schema": "http://json-schema.org/draft-04/schema#",
    "description": "one"
      " and two",
    "properties": {
        **BASE,
        'host': {"type": "string", "enum": ["a", "b"]},  # a comment, with a "quote
        "more": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok",]},
        "left": compute("out"),
    },
    "additionalProperties": True, "default": None,
}
REQUIRER_JSON_SCHEMA = {"properties": {"no": {"type": "string"}}}
`, "db", "given host=a\ngiven more={\"ok\":true}\nnumber port=8081",
		},
		{
			"of one databag each, by the interface that the library names", "lib/charms/traefik/v1/proxy.py", `
RELATION_INTERFACE = "http"
INGRESS_REQUIRES_APP_SCHEMA = {"properties": {"model": {"const": "m"}}}
INGRESS_REQUIRES_UNIT_SCHEMA = {"properties": {"host": {"const": "h"}}}
INGRESS_PROVIDES_APP_SCHEMA = {"properties": {"ingress": {"const": "i"}}}
`, "web", "app given model=m\nunit given host=h",
		},
		{
			"models, whose texts are JSON", "lib/charms/traefik/v2/http.py", `
from pydantic import BaseModel, Field
class DatabagModel(BaseModel):
    """Base: "x = 1" is text."""
    @classmethod
    def load(cls, databag):
        x: int = 1
class Scheme(str, Enum):
    http = "http"
class HttpRequirerAppData(DatabagModel):
    model: str = Field(description="The model: (its name)")
    strip: Optional[bool] = Field(default=False, alias="strip-prefix")
    scheme: Scheme = Scheme.http
    port: int = Field(..., ge=1, le=65535)
    ports: List[Annotated[int, Field(gt=5)]]
    if PYDANTIC_IS_V1:
        redirect: Literal["yes", "no"]
    else:
        redirect: int
    @validator("port")
    def validate_port(cls, port):
        y: str = "no field"
    class Config:
        z: str
class HttpRequirerUnitData(DatabagModel):
    host: IPvAnyAddress
class HttpProviderAppData(DatabagModel):
    ingress: str
class HttpRequirer(Object):
    on: str
`, "web", "app given ports=[8080]\napp given redirect=\"yes\"\napp given scheme=\"http\"\napp given strip-prefix=false\napp number port=8080\napp word model=\"model-of-other-web\"\n" +
				"unit address host=\"10.77.4.2\"",
		},
		{
			"a schema of both databags as a model", "interfaces/sql/v1/schema.py", `
class Login(BaseModel):
    user: str
class Nested(BaseModel):
    logins: typing.Dict[str, Login] | None
    again: "Nested"
class ProviderSchema(DataBagSchema):
    """Provider schema."""
    app: Nested
    unit: Login
class RequirerSchema(DataBagSchema):
    app: Login
`, "db", "app given logins={\"key-1\":{\"user\":\"user-value\"}}\nunit word user=user-of-other-db-0",
		},
		{
			"all below one key", "src/sql.py", `
class ProviderData(DatabagModel):
    model_config = ConfigDict(extra="ignore", _NEST_UNDER="config")
    host: str
`, "db", `given config={"host":"10.77.3.2"}`,
		},
		{"by its databag alone", "src/sql.py", "class _DatabagModel(BaseModel):\n    pass\nclass SqlAppData(_DatabagModel):\n    name: str\nclass Login(BaseModel):\n    user: str\n", "db", "app word name=\"name-of-other-db\""},
		{"loaded by Ops", "src/db.py", "class DbDataBag(pydantic.BaseModel):\n    name: constr(min_length=5)\nx = relation.load(DbDataBag, relation.app)\n", "db", "word name=\"name-of-other-db-0\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := readAll(map[string]string{test.file: test.text})
			e := stubOf(s, test.endpoint)
			if got := told(e, s.schemaKeys(e)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestTheSurestSchemaCounts: of several for an endpoint.
func TestTheSurestSchemaCounts(t *testing.T) {
	t.Parallel()
	of := func(key string) string { return `{"properties": {"` + key + `": {"const": "x"}}}` }
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"the newest version", map[string]string{"interfaces/sql/v2/schemas/provider.json": of("two"), "interfaces/sql/v10/schemas/provider.json": of("ten")}, "given ten=x"},
		{"one of the role rather than of any", map[string]string{"schemas/sql.json": of("any"), "schemas/sql/provider.json": of("role")}, "given role=x"},
		{"one that is written down rather than what a library checks by", map[string]string{"lib/charms/pg/v9/sql.py": "PROVIDER_SCHEMA = " + of("checked"), "interfaces/sql/v0/schemas/provider.json": of("written")}, "given written=x"},
		{"the interface's rather than one of the endpoint's name", map[string]string{"schemas/db/provider.json": of("name"), "schemas/sql/provider.json": of("interface")}, "given interface=x"},
	} {
		s := readAll(test.files)
		e := stubOf(s, "db")
		if got := told(e, s.schemaKeys(e)); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
	s := shop()
	s.Charm.Endpoints["cache"] = model.CharmRel{Role: model.Requirer, Interface: "cache", Scope: model.Global}
	s.schemas = schemasIn("schemas/provider.json", []byte(of("whose")))
	if got := s.schemaKeys(stubOf(s, "db")); len(got) > 0 {
		t.Errorf("a schema that names no interface may be of either: %v", got)
	}
}

// TestSchemasAreFoundInTrees: in directories and in charm files, but not in tests nor in packages
// that are none of interfaces.
func TestSchemasAreFoundInTrees(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	of := func(key string) string {
		return `SQL_PROVIDER_SCHEMA = {"properties": {"` + key + `": {"const": "x"}}}`
	}
	for name, text := range map[string]string{
		"tests/sql.py": of("tests"), "venv/lib/python3/site-packages/pg/sql.py": of("venv"), ".tox/sql.py": of("tox"), "src/sql.py": of("src"), "README.md": of("md"),
	} {
		path := filepath.Join(dir, "tree", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(dir, "a.charm")
	file, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(file)
	for name, text := range map[string]string{"src/sql.py": of("packed"), "venv/lib/python3/site-packages/charmlibs/interfaces/sql/_sql.py": of("lib")} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	s := shop()
	if err := s.ReadSchemas(filepath.Join(dir, "tree"), packed); err != nil {
		t.Fatal(err)
	}
	e := stubOf(s, "db")
	if got := told(e, s.schemaKeys(e)); got != "given lib=x\ngiven src=x" {
		t.Error(got)
	}
}

// FuzzSchemas: whatever a charm's tree has, reading it ends, and what it gives can be published.
func FuzzSchemas(f *testing.F) {
	f.Add("interfaces/sql/v0/schemas/provider.json", bothBags)
	f.Add("interfaces/sql/v0/schemas/provider.json", `{"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/b"}, "c": {"type": "array", "minItems": 1e9}, "d": {"minimum": 1e999999999}, "e": {"multipleOf": 1e-9, "minimum": 0.3}}}`)
	f.Add("lib/charms/pg/v0/sql.py", "A = [A, A, A]\nB = [A, B]\nSQL_PROVIDER_SCHEMA = {'properties': {'a': {'enum': B}, **A, 'b': {'type': [[[[((((\n")
	f.Add("lib/charms/pg/v0/sql.py", "class A(B):\n  x: List[A | 'B']\nclass B(A, BaseModel):\n  y: Optional[Dict[str, A]] = Field(default=-1e5, ge=--1)\nclass ProviderData(B):\n  z: Annotated[conlist(B, min_length=2), Field(examples='''x''')]\n \\\n")
	f.Add("src/sql.py", "class ProviderBag(BaseModel):\n\ta: Literal[b'x', rf'{y}', \"\\N{DASH}\\u00e9\\\n]\n)\n  b : int = lambda x: {1: 2}[x] if y else [z for z in q]\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		s := readAll(map[string]string{name: text})
		e := stubOf(s, "db")
		for _, k := range s.schemaKeys(e) {
			line := "stub-set other-db/0 " + e.word(k, 0)
			p := &player{here: place{vars: map[string]string{e.variable(k): "secret:x"}}}
			if words, err := p.words(line); err != nil || len(words) != 3 || strings.Contains(line, "\n") {
				t.Errorf("%q: %q %v", line, words, err)
			}
		}
	})
}

package modules

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/daemon"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/spec"
)

var update = flag.Bool("update", false, "write docs/control.md anew")

const controlDocument = "../../../docs/control.md"

const controlPreface = `# The control socket of lnetd

HTTP/1.1 with JSON on a Unix socket (` + "`--socket`" + `), for the commands of the same version. The operations
are declared in cmd/internal/node, cmd/internal/daemon, cmd/internal/control and the packages of cmd/internal/modules. This table is generated from the declarations by ` + "`go test -run TestControlDocument ./cmd/internal/modules -update`" + `.
Root and the user of lnetd may send every request; the group of the socket may send GET requests, but for profiles.

A GET request has its parameters in the query. The body of a POST request begins with a line with the request, one JSON
object; if the operation takes data, the data follows. "Steps" are JSON objects, one per line; payload follows the line
that announces it, and the last line has the result of the operation. An answer other than 200 is ` + "`{\"error\": {\"message\", \"hint\", \"errno\"}}`" + `.

| request | of | answered by | what it does |
|---|---|---|---|
`

// allRoutes returns the operations of the control socket, in the order of their paths.
func allRoutes() []control.Route {
	routes := slices.Concat(control.OwnRoutes(), new(node.Node).Routes(), new(daemon.Log).Routes(), new(daemon.Settings).Routes())
	for _, m := range List(node.Host{Config: new(config.Config)}) {
		routes = append(routes, m.Routes()...)
	}
	slices.SortFunc(routes, func(a, b control.Route) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return routes
}

// TestBugreportAsksAll: a report of lnetctl bugreport has the answer to each question, except those whose Unasked says
// why not. What a report asks has the parameters that the question needs, and a file of its own.
func TestBugreportAsksAll(t *testing.T) {
	spec.Covers(t, "OP-44")
	files := map[string]bool{}
	for _, r := range allRoutes() {
		path, err := r.Asked()
		if err != nil {
			t.Error(err)
		}
		if path == "" {
			continue
		}
		path, _, _ = strings.Cut(path, "?")
		if file := strings.ReplaceAll(path, "/", "-"); files[file] {
			t.Errorf("%s: the report already has a file %s.json", path, file)
		} else {
			files[file] = true
		}
	}
	if len(files) < 33 {
		t.Errorf("a report asks %d questions only: %v", len(files), files)
	}
}

// declared matches the declaration of an operation, on one line, and its path.
var declared = regexp.MustCompile(`(Op\w+) += control\.\w+\[.*\bPath: "([^"]+)"`)

// TestRoutes: each operation that is declared is in a function Routes. Otherwise the daemon does not
// know it, and the client blames another version of lnetd.
func TestRoutes(t *testing.T) {
	var paths []string
	for _, r := range allRoutes() {
		paths = append(paths, r.Path)
	}
	operations := 0
	for _, pattern := range []string{"*/*.go", "../node/*.go", "../daemon/*.go", "../control/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range declared.FindAllStringSubmatch(string(text), -1) {
				if operations++; !slices.Contains(paths, op[2]) {
					t.Errorf("%s: Routes of the package lacks %s (%s)", file, op[1], op[2])
				}
			}
		}
	}
	if operations < 100 {
		t.Errorf("found %d operations only: are they declared on one line each?", operations)
	}
}

// TestControlDocument: docs/control.md lists the operations of the control socket, each with a
// path of its own and a description.
func TestControlDocument(t *testing.T) {
	routes := allRoutes()
	var b strings.Builder
	b.WriteString(controlPreface)
	for i, r := range routes {
		if r.Doc == "" || !strings.HasPrefix(r.Path, "/v1/") || i > 0 && routes[i-1].Path == r.Path && routes[i-1].Method == r.Method {
			t.Errorf("%s %s: declared twice, or without what it does", r.Method, r.Path)
		}
		b.WriteString(controlRow(r))
	}
	if *update {
		if err := os.WriteFile(controlDocument, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	has, err := os.ReadFile(controlDocument)
	if err != nil {
		t.Fatal(err)
	}
	if string(has) != b.String() {
		t.Error("docs/control.md is not what the operations are: write it by go test -run TestControlDocument ./cmd/internal/modules -update")
	}
}

func controlRow(r control.Route) string {
	request, answer := "", "a stream"
	switch {
	case r.Kind == control.Asks:
		request = strings.Join(parameters(r.Request), " ")
	case r.Request != nil && r.Request != reflect.TypeFor[control.None]():
		request = typeName(r.Request)
	}
	if r.Data {
		request = strings.TrimPrefix(request+" and data", " and ")
	}
	switch r.Kind {
	case control.Asks, control.Orders:
		answer = typeName(r.Answer)
	case control.Acts:
		answer = "the request"
	case control.Steps:
		answer = "steps"
	}
	return fmt.Sprintf("| %s %s | %s | %s | %s |\n", r.Method, r.Path, request, answer, r.Doc)
}

// typeName returns the name of a type with its package, since several packages have a type
// Status. Packages of the daemon are named without their folder.
func typeName(t reflect.Type) string {
	if t.Kind() == reflect.Slice {
		return "list of " + typeName(t.Elem())
	}
	module := strings.TrimSuffix(reflect.TypeFor[control.None]().PkgPath(), "cmd/internal/control")
	path := strings.TrimPrefix(t.PkgPath(), module)
	if path == "" { // a type of the language
		return "`" + t.Name() + "`"
	}
	return "`" + strings.TrimPrefix(strings.TrimPrefix(path, "cmd/internal/"), "modules/") + "." + t.Name() + "`"
}

// parameters returns the names of the parameters in the query of a GET request.
func parameters(request reflect.Type) (list []string) {
	for _, f := range reflect.VisibleFields(request) {
		if name, _, _ := strings.Cut(f.Tag.Get("query"), ","); name != "" {
			list = append(list, name)
		}
	}
	return list
}

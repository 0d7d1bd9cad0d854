package docstest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/effort"
)

// given has, by document, the imports and declarations that fragments of Go in it need to
// compile.
var given = map[string]struct{ imports, before string }{
	"docs/client-health.md": {
		`"context"; "fmt"; "log"; "time"; "ulnet/health"; "ulnet/lnet/nid"; "ulnet/portals"; "ulnet/portals/node"`,
		`var (
			servers []nid.NID; table *portals.Table; view health.View; all health.Broadcaster; store health.Store
			stop, serve func(health.ClientID)
			_, _, _, _ = context.Background, fmt.Println, log.Println, time.Now
			_ node.Config
		)`,
	},
	"docs/collectives.md": {
		`"context"; "log/slog"; "time"; "ulnet/gossip"; "ulnet/lnd/socklnd"; "ulnet/lnet/nid"; "ulnet/portals/node"; "ulnet/scoll"; "ulnet/scoll/collective"`,
		`var (
			ctx context.Context; group *scoll.Group; agent *scoll.Agent; servers []nid.NID; n *node.Node; discovery *gossip.Agent
			_, _, _ = slog.Default, time.Now, collective.NewBarrier
			_ socklnd.Config
		)`,
	},
	"docs/membership.md": {
		`"context"; "fmt"; "ulnet/gossip/zone"; "ulnet/portals/node"`,
		`var (
			ctx context.Context; bootstrap []zone.ID; agent *zone.Agent; err error
			_ = fmt.Println
			_ node.Config
		)`,
	},
}

// declarations matches the beginning of a fragment that does not consist of statements.
var declarations = regexp.MustCompile(`^(package|import|func|type|const)\b`)

// unused matches values that a fragment declares and does not use.
var unused = regexp.MustCompile(`(?m)^\t?(\w+)(?:, (\w+))* :=`)

// program returns the source file of a block: the block itself if it has a package clause,
// otherwise a file around it.
func program(d document, b block) string {
	switch {
	case strings.HasPrefix(b.text, "package "):
		return b.text
	case declarations.MatchString(b.text):
		return "package fragment\n" + b.text
	}
	g := given[d.name]
	imports := `import (` + g.imports + ")\n"
	body := strings.TrimRight(b.text, "\n")
	for _, name := range unused.FindAllString(body, -1) {
		for _, v := range strings.Split(strings.TrimSpace(strings.TrimSuffix(name, " :=")), ", ") {
			body += "\n_ = " + v
		}
	}
	return "package fragment\n" + imports + g.before + "\nfunc fragment() error {\n" + body + "\nreturn nil\n}\n"
}

// copyTree copies the files of the repository, without those of git and those that make has
// built.
func copyTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "bin"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, info.Mode().Perm())
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPrograms: another Go module builds the program of the README and the programs of other documents with
// the packages of this repository. In a long run the module has a replace directive with the path of a clone,
// as library.md says. The packages then have another version, so go compiles all of them again. In other runs
// both modules are in a Go workspace, and go uses the packages that it has compiled for other tests.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a module; skipped by -short")
	}
	effort.Anew()
	module := t.TempDir()
	writePrograms(t, module)
	text := "module example.org/user\n\ngo 1.26.0\n\n"
	for _, line := range requirements(t) {
		text += "require " + line + " // indirect\n"
	}
	env := []string{"GOFLAGS=-trimpath -mod=mod", "GOWORK=off"}
	if effort.Long() {
		text += "\nrequire ulnet v0.0.0\n\nreplace ulnet => " + copyTree(t) + "\n"
	} else {
		here, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		work := filepath.Join(module, "go.work")
		writeText(t, work, "go 1.26.0\n\nuse (\n\t.\n\t"+here+"\n)\n")
		env = []string{"GOFLAGS=-trimpath", "GOWORK=" + work}
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	writeText(t, filepath.Join(module, "go.sum"), string(sum))
	writeText(t, filepath.Join(module, "go.mod"), text)
	for _, args := range [][]string{{"vet", "./..."}, {"build", "-ldflags=-s", "-o", filepath.Join(module, "readme"), "./block1"}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = module, append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v in a module that requires this one: %v\n%s", args, err, out)
		}
	}
}

// writePrograms writes the blocks of Go of all documents into a module, each as a package.
func writePrograms(t *testing.T, module string) {
	t.Helper()
	n := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.language != "go" || strings.HasPrefix(d.name, "docs/spec/") {
				continue
			}
			n++
			dir := filepath.Join(module, fmt.Sprintf("block%d", n))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			writeText(t, filepath.Join(dir, "main.go"), fmt.Sprintf("// %s, line %d.\n%s", d.name, b.line, program(d, b)))
		}
	}
	if n < 5 {
		t.Errorf("the documents have %d blocks of Go", n)
	}
}

func writeText(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// requirements returns the modules that this module requires, with their versions.
func requirements(t *testing.T) (list []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\t([^\s/]+\.[^\s]+ v[^\s]+)`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestModulePath: one command gives the modules another path, and no file has the old path
// afterwards.
func TestModulePath(t *testing.T) {
	if testing.Short() {
		t.Skip("copies the tree; skipped by -short")
	}
	effort.Anew()
	clone := copyTree(t)
	run := func(dir, name string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return out
	}
	old := strings.TrimSpace(string(run(clone, "go", "list", "-m")))
	run(clone, filepath.Join(clone, ".ci", "module"), "example.org/lnet/ulnet")
	for _, dir := range []string{"", "cmd/bench"} {
		out := run(filepath.Join(clone, dir), "go", "list", "-deps", "-test", "-f", "{{if .Module}}{{.ImportPath}}{{end}}", "./...")
		if !bytes.Contains(out, []byte("example.org/lnet/ulnet/portals\n")) || regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(old)+`/`).Match(out) {
			t.Errorf("%s: the old path is left:\n%s", dir, out)
		}
	}
	if effort.Long() {
		if out := run(clone, "go", "tool", "gofumpt", "-l", "."); len(out) > 0 {
			t.Errorf("not formatted:\n%s", out)
		}
		run(clone, "go", "vet", "./...")
		run(clone, "go", "test", "-short", "./cmd/internal/archtest")
	}
}

// TestVersions: every command prints its version.
func TestVersions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "cmd", "*", "main.go"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%v, %v", files, err)
	}
	var names []string
	for _, file := range files {
		if name := filepath.Base(filepath.Dir(file)); name != "bench" { // left out: bench is a Go module of its own, which commands.Build does not build; it prints its version in the same way
			names = append(names, name)
		}
	}
	bin, err := commands.Build(t.TempDir(), names...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		out, err := exec.CommandContext(t.Context(), filepath.Join(bin, name), "--version").Output()
		if err != nil || !strings.HasPrefix(string(out), name+" version ") {
			t.Errorf("%s --version: %q, %v", name, out, err)
		}
	}
}

package mutants

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shapes is the source of a package whose functions have different forms: methods, named results, variadic
// and generic functions. A switch at run time has to call a mutant of each form. The constant shapesTest
// has the tests.
const shapes = `package shapes

const bound = 3

type counter struct{ n int }

func (c *counter) add(n int) { c.n += n }

func (counter) zero(_ int, _ string, last bool) bool { return last }

func (counter) never(int, ...string) bool { return false }

func sum(first int, more ...int) (total int) {
	for total = first; len(more) > 0; more = more[1:] {
		total += more[0]
	}
	return
}

func pick[K comparable, V any](m map[K]V, k K) (V, bool) { v, ok := m[k]; return v, ok }

func empty[T any]() []T { return nil }

func wait(done chan bool) { close(done) }

var ready = make(chan bool)

func init() { close(ready) }
`

const shapesTest = `package shapes

import "testing"

func TestAdd(t *testing.T) {
	c := counter{1}
	if c.add(2); c.n != bound {
		t.Error(c)
	}
}

func TestZero(t *testing.T) {
	if (counter{}).zero(1, "", false) || (counter{}).never(1, "") {
		t.Error("true")
	}
}

func TestSum(t *testing.T) {
	if n := sum(1, 2, 3); n != 6 {
		t.Error(n)
	}
}

func TestPick(t *testing.T) {
	if v, ok := pick(map[string]int{"a": 1}, "a"); v != 1 || !ok {
		t.Error(v, ok)
	}
	if len(empty[int]()) != 0 {
		t.Error("not empty")
	}
}

func TestWait(t *testing.T) {
	done := make(chan bool)
	wait(done)
	<-done
	<-ready
}
`

// shapesPatches has the mutants of the package in the constant shapes, as patches by name. The tests in
// shapesTest kill all of them except "alive" and "hung".
var shapesPatches = map[string]string{
	"alive":     "the sum is counted otherwise\ntests: TestAdd|TestZero\n--- shapes.go\n-\t\ttotal += more[0]\n+\t\ttotal += more[len(more)-1]\n",
	"hung":      "nothing is closed\ntests: TestWait\n--- shapes.go\n-func wait(done chan bool) { close(done) }\n+func wait(done chan bool) {}\n",
	"add":       "added twice\ntests: TestAdd\n--- shapes.go\n-{ c.n += n }\n+{ c.n += n; c.n += n }\n",
	"add-none":  "not added\ntests: TestAdd\n--- shapes.go\n-{ c.n += n }\n+{}\n",
	"zero":      "the other answer\n--- shapes.go\n-bool { return last }\n+bool { return !last }\n",
	"never":     "no parameter has a name\n--- shapes.go\n-bool { return false }\n+bool { return true }\n",
	"sum":       "one is missing\ntests: TestSum\n--- shapes.go\n-\tfor total = first; len(more) > 0; more = more[1:] {\n+\tfor total = first; len(more) > 1; more = more[1:] {\n",
	"pick":      "never found\ntests: TestPick\n--- shapes.go\n-return v, ok }\n+return v, ok && false }\n",
	"empty":     "one too many\ntests: TestPick\n--- shapes.go\n-{ return nil }\n+{ return make([]T, 1) }\n",
	"constant":  "another bound\ntests: TestAdd\n--- shapes.go\n-const bound = 3\n+const bound = 4\n",
	"panic":     "closed twice\ntests: TestWait\n--- shapes.go\n-(done chan bool) { close(done) }\n+(done chan bool) { close(done); close(done) }\n",
	"may-hang":  "as hung, and allowed\ntests: TestWait\nhangs: it waits for the channel\n--- shapes.go\n-func wait(done chan bool) { close(done) }\n+func wait(done chan bool) {}\n",
	"two-parts": "both change\ntests: TestAdd|TestSum\n--- shapes.go\n-{ c.n += n }\n+{ c.n -= n }\n--- shapes.go\n-\t\ttotal += more[0]\n+\t\ttotal -= more[0]\n",
}

// inShapes writes the package of the constant shapes as a module of its own, and the patches, and makes the
// folder of the module the working directory.
func inShapes(t *testing.T, patches map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	write(t, "go.mod", "module shapes\n\ngo 1.26\n")
	write(t, "shapes.go", shapes)
	write(t, "shapes_test.go", shapesTest)
	if err := os.MkdirAll("testdata/mutants", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range patches {
		write(t, filepath.Join("testdata/mutants", name+".patch"), text)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestKill: one binary contains all mutants except the one that changes a constant. Each of
// them takes effect when it is chosen, and only then.
func TestKill(t *testing.T) {
	inShapes(t, shapesPatches)
	patches, err := readPatches()
	if err != nil {
		t.Fatal(err)
	}
	b := &build{dir: t.TempDir()}
	bin, alone, err := b.all(".", patches)
	if err != nil {
		t.Fatal(err)
	}
	if len(alone) != 1 || alone[0].name != "constant" || len(bin.number) != len(patches)-1 {
		t.Fatal(alone, bin.number)
	}
	if out, err := bin.run(t.Context(), "", ".", limit); err != nil {
		t.Fatalf("no mutant is chosen: %v\n%s", err, out)
	}
	own, err := b.one(alone[0])
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{"alive": "no test misses the rule", "hung": "hung"}
	for _, p := range patches {
		some, limit := bin, limit
		if p.name == "constant" {
			some = own
		}
		if strings.HasSuffix(p.name, "hang") || p.name == "hung" {
			limit = time.Second
		}
		out, err := some.run(t.Context(), p.name, p.tests, limit)
		err = result(p, out, err)
		if why := reasons[p.name]; why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", p.name, err, why)
		}
	}
}

// TestOtherPackage: a patch names the package whose tests must fail, which is not the one that the patch changes. It has
// a binary of its own.
func TestOtherPackage(t *testing.T) {
	inShapes(t, map[string]string{"other": "not added\nof: user\ntests: TestUser\n--- shapes.go\n-{ c.n += n }\n+{}\n"})
	write(t, "export.go", "package shapes\n\nfunc Add(n int) int { var c counter; c.add(n); return c.n }\n")
	if err := os.Mkdir("user", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, "user/user_test.go", "package user\n\nimport (\n\t\"shapes\"\n\t\"testing\"\n)\n\nfunc TestUser(t *testing.T) {\n\tif shapes.Add(1) != 1 {\n\t\tt.Error(\"not added\")\n\t}\n}\n")
	patches, err := readPatches()
	if err == nil {
		err = patches[0].check(testNames)
	}
	if err != nil || len(in("user", patches)) != 1 || len(dirs(patches)) != 1 {
		t.Fatal(patches, err)
	}
	b := &build{dir: t.TempDir()}
	bin, alone, err := b.all("user", patches)
	if err != nil || len(alone) != 1 {
		t.Fatal(alone, err)
	}
	own, err := b.one(alone[0])
	if err != nil {
		t.Fatal(err)
	}
	for bin, want := range map[*binary]string{bin: "no test misses the rule", own: ""} {
		out, err := bin.run(t.Context(), "", "TestUser", limit)
		if err = result(patches[0], out, err); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestCheck: without compiling, readPatches or check finds a patch whose lines are not in
// the source any more, that is not valid Go, or that names a test that does not exist any
// more.
func TestCheck(t *testing.T) {
	for _, test := range []struct{ name, patch, want string }{
		{"gone", "x\n--- shapes.go\n-\ttotal := 0\n+\ttotal := 1\n", "0 times"},
		{"ambiguous", "x\n--- shapes.go\n-c\n+d\n", "times, not once"},
		{"no Go", "x\n--- shapes.go\n-{ c.n += n }\n+{ c.n += }\n", "expected operand"},
		{"no test", "x\ntests: TestAdd|TestMul\n--- shapes.go\n-{ c.n += n }\n+{ }\n", `no test in . matches "TestMul"`},
		{"no file", "x\n--- other.go\n-{ c.n += n }\n+{ }\n", "no such file"},
		{"good", shapesPatches["add"], ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			inShapes(t, map[string]string{"it": test.patch})
			patches, err := readPatches()
			if err == nil {
				err = patches[0].check(testNames)
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestSchemaKeepsLines: a failing test names lines of the original file.
func TestSchemaKeepsLines(t *testing.T) {
	s, err := newSchema("shapes.go", shapes)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.add(1, "shapes.go", strings.Replace(shapes, "c.n += n", "c.n -= n", 1)); !ok || err != nil {
		t.Fatal(ok, err)
	}
	before, after := bytes.Split([]byte(shapes), []byte("\n")), bytes.Split([]byte(s.String()), []byte("\n"))
	for i, line := range before {
		if words := strings.Fields(string(line)); len(words) > 0 && !bytes.HasPrefix(after[i], []byte(words[0])) && !bytes.HasPrefix(line, []byte("\t")) {
			t.Errorf("line %d: %q became %q", i+1, line, after[i])
		}
	}
}

package scenario_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/sim/scenario"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", name), []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(read(t, name), got); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it:\n%s", name, diff)
	}
}

func TestFormat(t *testing.T) {
	f := parseFile(t, "format.txt")
	text := string(f.Format())
	golden(t, "format.golden", text)
	if again := string(parse(t, "again", text).Format()); again != text {
		t.Errorf("formatted again (-want +got):\n%s", cmp.Diff(text, again))
	}
}

// TestErrors: each section of errors.txt is a file; the golden file has the errors that the
// parser reports for it.
func TestErrors(t *testing.T) {
	var b strings.Builder
	for section := range strings.SplitSeq(strings.TrimPrefix(read(t, "errors.txt"), "-- "), "\n-- ") {
		name, text, _ := strings.Cut(section, "\n")
		_, err := scenario.Parse("FILE", []byte(text), protocols)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		var list scenario.Errors
		if !errors.As(err, &list) || len(list) == 0 {
			t.Errorf("%s: a %T without errors", name, err)
		}
		b.WriteString("-- " + name + "\n" + err.Error() + "\n")
	}
	golden(t, "errors.golden", b.String())
}

// TestPauseAgain: a pause that has ended can be followed by another, whatever the file does to
// the node between or during them.
func TestPauseAgain(t *testing.T) {
	for _, between := range []string{"at 2s do 3 tell 1", "at 5s do 3 tell 1", "at 2s slow 3 1ms"} {
		parse(t, "again", "protocol flood\nnodes 5\nrun 20s\nat 1s pause 3 for 2s\n"+between+"\nat 8s pause 3 for 1s\n")
	}
}

func TestHostileText(t *testing.T) {
	head := "protocol flood\nnodes 10\nrun 1s\n"
	for name, text := range map[string]string{
		"too large":     strings.Repeat("#\n", 1<<20),
		"long line":     head + "# " + strings.Repeat("x", 1<<17),
		"not UTF-8":     head + "at 1s kill \xff",
		"endless time":  head + "at 99999999h kill 1",
		"nodes":         "protocol flood\nnodes 99999999999999999999\nrun 1s",
		"many mistakes": head + strings.Repeat("nonsense\n", 1000),
		"huge sets":     "protocol flood\nnodes 4000000\nrun 1h\nevery 1s do all tell 1",
	} {
		_, err := scenario.Parse("FILE", []byte(text), protocols)
		var list scenario.Errors
		if !errors.As(err, &list) {
			t.Errorf("%s: error %v", name, err)
		} else if len(list) > 20 {
			t.Errorf("%s: %d errors", name, len(list))
		}
	}
}

// TestOtherNodes: a run with another number of nodes than the file has is checked again.
func TestOtherNodes(t *testing.T) {
	f := parse(t, "FILE", "protocol flood\nnodes 100\nrun 1s\nat 500ms kill 90-100\n")
	_, err := scenario.Run(t.Context(), f, scenario.Options{Nodes: 50})
	if want := "FILE:4:15: 90-100: nodes are numbered 1 to 50"; err == nil || err.Error() != want {
		t.Errorf("error %v: want %s", err, want)
	}
	if res := run(t, f, scenario.Options{Nodes: 200}); res.Nodes != 200 {
		t.Errorf("%d nodes", res.Nodes)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range append([]string{"format.txt", "planted.sim"}, faults...) {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := scenario.Parse("fuzz", text, protocols)
		if err != nil {
			return
		}
		formatted := file.Format()
		again, err := scenario.Parse("again", formatted, protocols)
		if err != nil {
			t.Fatalf("%v\n%s", err, formatted)
		}
		if diff := cmp.Diff(string(formatted), string(again.Format())); diff != "" {
			t.Fatalf("formatted again (-want +got):\n%s", diff)
		}
		plain, err := file.Expand(file.Nodes, file.Seed)
		if err != nil {
			t.Fatalf("%v\n%s", err, formatted)
		}
		if _, err := scenario.Parse("plain", plain.Format(), protocols); err != nil {
			t.Fatalf("%v\n%s", err, plain.Format())
		}
	})
}

package transcript

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// save writes a text to a file, and returns its path.
func save(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRead: the lengths in bytes decide what belongs to an output, also if the output looks like
// a command or has no newline at its end.
func TestRead(t *testing.T) {
	list, err := Read(save(t, `# a comment
[on B, exit 0] ip link set eth0 down
A$ lst one
[stdout 7]
A$ lst
[stderr 3]
bad
[exit 255, 3 s]

B$ lst two
[stdout 0]
[stderr 0]
[exit 0]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Line: 2, Host: "B", Command: "ip link set eth0 down", Prepare: true},
		{Line: 3, Host: "A", Command: "lst one", Stdout: "A$ lst\n", Stderr: "bad", Code: 255},
		{Line: 10, Host: "B", Command: "lst two"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadBroken: a transcript that ends too early is an error.
func TestReadBroken(t *testing.T) {
	for _, text := range []string{"A$ x\n", "A$ x\n[stdout 9]\nx\n", "A$ x\n[stdout 0]\n[stderr 0]\n", "A$ x\n[stdout 0]\n[stderr 0]\n[exit x]\n"} {
		if list, err := Read(save(t, text)); err == nil {
			t.Errorf("%q: %v", text, list)
		}
	}
}

// TestDifferences: an entry lets the aspects that it lists differ, for its commands and in its topics. An
// aspect that has not differed in one of these topics is reported, unless it has a question mark.
func TestDifferences(t *testing.T) {
	d, err := ReadDifferences(save(t, "A reason.\n\t01,02 exit,stdout? lst (a|b)\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topic, aspect, command string
		want                   bool
	}{
		{"01", "exit", "lst a", true},
		{"01", "stderr", "lst a", false},
		{"01", "stdout", "lst b", true},
		{"01", "exit", "lst a c", false},
		{"03", "exit", "lst a", false},
	} {
		if got := d.Allowed(c.topic, c.aspect, c.command); got != c.want {
			t.Errorf("%v: %t", c, got)
		}
	}
	if left := d.NotNeeded("01"); len(left) > 0 {
		t.Error(left)
	}
	if left := d.NotNeeded("02"); len(left) != 1 {
		t.Error(left)
	}
}

// TestDifferencesBroken: an entry without a reason, or without all of its parts, is an error.
func TestDifferencesBroken(t *testing.T) {
	for _, text := range []string{"\t01 exit lst\n", "A reason.\n\n\t01 exit lst\n", "A reason.\n\t01 exit\n", "A reason.\n\t01 exit (\n"} {
		if _, err := ReadDifferences(save(t, text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

package main

import (
	"regexp"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
)

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"ulnet/lnd/socklnd.(*conn).write":                         "lnd/socklnd",
		"ulnet/lnet/nid.NID.IsLo":                                 "lnet/nid",
		"ulnet/portals.(*slab[go.shape.struct { ulnet/x.Y }]).at": "portals",
		"main.(*flood).run":                                       "main",
	} {
		if got, ours := packageOf(function); got != want || !ours {
			t.Errorf("%s is of package %s, ours %v; want %s", function, got, ours, want)
		}
	}
	for _, function := range []string{"runtime.mallocgc", "internal/runtime/syscall.Syscall6", "golang.org/x/sys/unix.Sendmsg"} {
		if got, ours := packageOf(function); ours {
			t.Errorf("%s counts as a function of this project's package %s", function, got)
		}
	}
}

// TestProfile runs a short measurement with --profile: the table names at least one layer that
// messages pass through. A short run has too few samples to name all of them.
func TestProfile(t *testing.T) {
	var out, errs strings.Builder
	code := run(t.Context(), cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}, []string{"--goal", "G-LN-4", "--rounds", "2", "--out", "", "--profile"})
	if code != cli.OK {
		t.Fatalf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
	_, table, found := strings.Cut(out.String(), "\nPUT: CPU time per operation in ns")
	if !found {
		t.Fatalf("no table of PUTs:\n%s", out.String())
	}
	row := regexp.MustCompile(`(?m)^ *(\d+\.\d) +(\d+\.\d) +(\d+\.\d) +(\d+\.\d) +(portals|lnet|lnd/socklnd) *$`)
	if !row.MatchString(table) {
		t.Errorf("the table names none of portals, lnet and lnd/socklnd:\n%s", table)
	}
}

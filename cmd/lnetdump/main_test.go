package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ulnet/cmd/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lnetdump": main})
}

// TestScripts runs testdata/*.txt. $CAPTURES holds captures of kernel nodes.
func TestScripts(t *testing.T) {
	captures, err := filepath.Abs("testdata/captures")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("CAPTURES", captures)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each command sleeps for a second at its exit
			return nil
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"shorten": shorten, "spoil": spoil},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}

// shorten FILE N COPY copies the first N bytes of a file.
func shorten(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(ts.ReadFile(args[0]))[:n], 0o644))
}

// spoil FILE N COPY copies a file with four bytes of ones at offset N.
func spoil(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := []byte(ts.ReadFile(args[0]))
	copy(b[n:n+4], "\xff\xff\xff\xff")
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), b, 0o644))
}

// invoke runs the command in the process of the test.
func invoke(ctx context.Context, env cli.Env, args ...string) int {
	if env.Getenv == nil {
		env.Getenv = func(string) string { return "" }
	}
	return run(ctx, env, args)
}

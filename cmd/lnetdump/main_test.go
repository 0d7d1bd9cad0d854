package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/scripttest"
	"ulnet/lnd/lndtest/effort"
)

// tool runs scripts with the commands shorten and spoil. $CAPTURES has captures of kernel nodes.
var tool = scripttest.Tool{
	Name: "lnetdump", Run: run, Vars: []string{"CAPTURES=" + captures()},
	Cmds: map[string]func(*testscript.TestScript, bool, []string){"shorten": shorten, "spoil": spoil},
}

func captures() string {
	path, err := filepath.Abs("testdata/captures")
	if err != nil {
		panic(err)
	}
	return path
}

func TestMain(m *testing.M) { os.Exit(tool.Main(m)) }

// TestScripts runs testdata/*.txt.
func TestScripts(t *testing.T) {
	effort.Anew() // the captures are read by other processes, so Go does not see that this test depends on them
	tool.Scripts(t, "testdata", "lnetdump")
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

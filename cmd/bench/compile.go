package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// recipe describes how to compile a program that ulnet is compared with.
type recipe struct {
	tool          string
	before, after []string // arguments of the compiler that stand before and after -o PROGRAM
	packages      string   // Debian packages that contain the compiler
	folder        string   // working directory of the compiler; empty: a new directory that contains the source
	source        string   // name of the source file; text is its contents
	text          []byte
}

// compiled is a program compiled by a recipe, or the reason why it could not be compiled.
type compiled struct {
	folder  string // temporary directory with the program; empty if there is none
	path    string
	missing string // why the program could not be compiled; empty if it was compiled
}

// compile compiles the program. If the compiler or the source is missing, the result says so in
// its field missing.
func (r recipe) compile(ctx context.Context) (c *compiled, err error) {
	if _, err := exec.LookPath(r.tool); err != nil {
		return &compiled{missing: r.tool + " is not installed: " + r.packages}, nil
	}
	c = new(compiled)
	if c.folder, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	c.path = filepath.Join(c.folder, "program")
	if r.folder == "" {
		r.folder = c.folder
		if err := os.WriteFile(filepath.Join(c.folder, r.source), r.text, 0o600); err != nil {
			c.remove()
			return nil, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(limited, r.tool, slices.Concat(r.before, []string{"-o", c.path}, r.after)...)
	cmd.Dir = r.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		c.remove()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return &compiled{missing: fmt.Sprintf("%s: %v: %s (needs %s)", r.tool, err, first, r.packages)}, ctx.Err()
	}
	return c, nil
}

func (c *compiled) remove() {
	if c.folder != "" {
		_ = os.RemoveAll(c.folder)
	}
}

// peersModule is the folder of the module peers, relative to the root of the tree, where bench
// is run.
const peersModule = "cmd/bench/peers"

// buildPeers compiles the program of the module peers, which depends on modules that bench does
// not require.
func buildPeers(ctx context.Context, module string) (*compiled, error) {
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return &compiled{missing: "its source, " + module + ", is not below this folder"}, nil
	}
	return recipe{tool: "go", before: []string{"build", "-trimpath"}, after: []string{"."}, folder: module, packages: "modules of Go"}.compile(ctx)
}

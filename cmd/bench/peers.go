package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peers is the program of cmd/bench/peers, which has modules that this one does not.
type peers struct{ folder string }

func (p *peers) path() string { return filepath.Join(p.folder, "peers") }

func (p *peers) remove() { _ = os.RemoveAll(p.folder) } // it is temporary

// buildPeers compiles it, or says why that cannot be.
func buildPeers(ctx context.Context) (p *peers, missing string, err error) {
	const module = "cmd/bench/peers"
	if _, err := os.Stat(filepath.Join(module, "go.mod")); err != nil {
		return nil, "its source, " + module + ", is not below this folder", nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return nil, "no go command to build it with", nil
	}
	p = new(peers)
	if p.folder, err = os.MkdirTemp("", "bench-peers-"); err != nil {
		return nil, "", err
	}
	building, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(building, "go", "build", "-trimpath", "-o", p.path(), ".")
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		p.remove()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return nil, fmt.Sprintf("%s cannot be built: %v: %s", module, err, first), ctx.Err()
	}
	return p, "", nil
}

// run runs it and decodes the results of all systems and rounds.
func (p *peers) run(ctx context.Context, results any, args ...string) error {
	cmd := exec.CommandContext(ctx, p.path(), append(args, "--json")...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its processes
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return json.Unmarshal(out, results)
}

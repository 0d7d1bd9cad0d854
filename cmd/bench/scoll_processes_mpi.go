package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata/bcast_barrier.c
var bcastBarrier []byte

// openMPI is the program that G-SC-2 is compared with, compiled.
type openMPI struct {
	folder  string
	missing string // why there is none
}

// compileMPI compiles the program, if there is what it takes.
func compileMPI(ctx context.Context) (*openMPI, error) {
	for _, tool := range []string{"mpicc", "mpirun"} {
		if _, err := exec.LookPath(tool); err != nil {
			return &openMPI{missing: tool + " is not installed: openmpi-bin, libopenmpi-dev"}, nil
		}
	}
	if version, err := exec.CommandContext(ctx, "mpirun", "--version").Output(); err != nil || !bytes.Contains(version, []byte("Open MPI")) {
		return &openMPI{missing: "mpirun is not Open MPI's"}, nil
	}
	folder, err := os.MkdirTemp("", "bench-mpi-")
	if err != nil {
		return nil, err
	}
	m := &openMPI{folder: folder}
	source := filepath.Join(folder, "bcast_barrier.c")
	if err := os.WriteFile(source, bcastBarrier, 0o600); err != nil {
		m.remove()
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "mpicc", "-O2", "-o", m.program(), source).CombinedOutput(); err != nil {
		m.remove()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return &openMPI{missing: fmt.Sprintf("mpicc: %v: %s", err, first)}, nil
	}
	return m, nil
}

func (m *openMPI) program() string { return filepath.Join(m.folder, "bcast_barrier") }

func (m *openMPI) remove() {
	if m.folder != "" {
		_ = os.RemoveAll(m.folder) // it is temporary
	}
}

// mpiTimeout bounds a run, its start included.
const mpiTimeout = 2 * time.Minute

// run starts the processes anew for each round: idle ones poll, and would
// take time from the others.
func (m *openMPI) run(ctx context.Context, nodes int, r collectiveRun) (latencies, error) {
	ctx, cancel := context.WithTimeout(ctx, mpiTimeout)
	defer cancel()
	cmd := exec.CommandContext(
		ctx, "mpirun", "--oversubscribe", "-np", strconv.Itoa(nodes), "--mca", "plm", "isolated",
		"--mca", "pml", "ob1", "--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo",
		"--mca", "oob_tcp_if_include", "lo", "--mca", "mpi_yield_when_idle", "1",
		m.program(), strconv.Itoa(r.Bytes), strconv.Itoa(r.Warm), strconv.Itoa(r.Count),
	)
	cmd.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its processes
	cmd.WaitDelay = 5 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return parseTimes(string(out), r.Count)
}

// parseTimes reads what the program prints: so many times in nanoseconds.
func parseTimes(out string, count int) (took latencies, err error) {
	for text := range strings.FieldsSeq(out) {
		ns, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("not a time: %q", text)
		}
		took = append(took, ns)
	}
	if len(took) != count {
		return nil, fmt.Errorf("%d times instead of %d", len(took), count)
	}
	return took, nil
}

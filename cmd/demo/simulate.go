package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// partition is the scenario that the demonstration simulates.
//
//go:embed partition.sim
var partition string

// simulate runs the scenario in virtual time, and prints it with its result and a conclusion.
func simulate(ctx context.Context, w io.Writer, l *lab) error {
	file := filepath.Join(l.dir, "partition.sim")
	if err := os.WriteFile(file, []byte(partition), 0o600); err != nil {
		return err
	}
	asJSON, err := output(l.command(ctx, "lnetsim", "run", file, "--json"))
	if err != nil {
		return err
	}
	shown, err := whatItShows([]byte(asJSON))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nAnd a network that this machine has not got, in virtual time (lnetsim run):\n\n%s\n%s\n", indent(partition), shown)
	return err
}

func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line != "\n" {
			line = "    " + line
		}
		b.WriteString(line)
	}
	return b.String()
}

// simulated is the part of lnetsim's JSON output that the demonstration needs.
type simulated struct {
	Nodes int     `json:"nodes"`
	Wall  float64 `json:"wall_s"`
	Runs  []struct {
		Virtual time.Duration `json:"virtual_ns"`
		Stats   struct {
			Sent uint64 `json:"sent"`
			Cut  uint64 `json:"cut"`
		} `json:"stats"`
		Measures []struct {
			Name  string  `json:"name"`
			Value float64 `json:"value"`
		} `json:"measures"`
	} `json:"runs"`
}

// measure returns a measure of the first run.
func (s *simulated) measure(name string) (float64, error) {
	for _, m := range s.Runs[0].Measures {
		if m.Name == name {
			return m.Value, nil
		}
	}
	return 0, fmt.Errorf("the simulation has no measure %q", name)
}

// whatItShows returns what the simulation shows, in words, from the JSON output of a run that
// met all expectations.
func whatItShows(asJSON []byte) (string, error) {
	var s simulated
	if err := json.Unmarshal(asJSON, &s); err != nil {
		return "", err
	}
	if len(s.Runs) == 0 {
		return "", fmt.Errorf("the simulation has no run")
	}
	var counts [3]float64
	for i, name := range []string{"operations", "answered", "failed"} {
		var err error
		if counts[i], err = s.measure(name); err != nil {
			return "", err
		}
	}
	stats := s.Runs[0].Stats
	return fmt.Sprintf(`%d whole LNet nodes began %.0f PUTs with ACK. The partition kept back %d of %d messages: %.0f PUTs failed,
%.0f were answered, none was delivered twice, and in the end every credit was back.
That was %v of virtual time in %v.`,
		s.Nodes, counts[0], stats.Cut, stats.Sent, counts[2], counts[1],
		s.Runs[0].Virtual, time.Duration(s.Wall*1e9).Round(10*time.Millisecond)), nil
}

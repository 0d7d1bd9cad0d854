package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"ulnet/cmd/internal/cli"
)

// size is the number of bytes in each transfer: the length of LNet's largest message.
const size = 1 << 20

// The portals and match bits of the transfers, as arguments of lnetctl.
var (
	putTo   = []string{"--portal", "20", "--match-bits", "0x1"}
	getFrom = []string{"--portal", "21", "--match-bits", "0x2"}
	nowhere = []string{"--portal", "22", "--match-bits", "0x3"}
)

// step is one operation of the demonstration.
type step struct {
	what     string
	from, to *node
	do       func(ctx context.Context) (result string, err error)
}

// transfers performs all steps and returns a table of them, up to the first failure.
func (l *lab) transfers(ctx context.Context) (cli.Table, error) {
	var table cli.Table
	table.Row("WHAT", "FROM", "TO", "RESULT", "TOOK")
	for _, s := range l.steps() {
		began := time.Now()
		result, err := s.do(ctx)
		if err != nil {
			result = "failed"
		}
		table.Row(s.what, s.from.nid, s.to.nid, result, time.Since(began).Round(100*time.Microsecond))
		if err != nil {
			return table, fmt.Errorf("%s from %s to %s: %w", s.what, s.from.nid, s.to.nid, err)
		}
	}
	return table, nil
}

func (l *lab) steps() []step {
	var steps []step
	for _, from := range l.nodes {
		for _, to := range l.nodes {
			if from == to {
				continue
			}
			steps = append(steps, step{"ping", from, to, func(ctx context.Context) (string, error) {
				_, err := l.lnetctl(ctx, from, "ping", to.nid)
				return "answered", err
			}})
		}
	}
	first, second, third := l.nodes[0], l.nodes[1], l.nodes[2]
	fourth := &node{nid: l.nid(3)} // the fourth node of the lab is in this process
	return append(steps,
		step{"PUT 1 MiB with ACK", first, second, func(ctx context.Context) (string, error) {
			return l.put(ctx, first, second)
		}},
		step{"GET 1 MiB", first, third, func(ctx context.Context) (string, error) {
			return l.get(ctx, first, third)
		}},
		step{"PUT that nobody takes", first, third, func(ctx context.Context) (string, error) {
			return l.putNowhere(ctx, first, third)
		}},
		step{"priority PUT behind bulk", fourth, third, func(ctx context.Context) (string, error) {
			return l.overtake(ctx, fourth, third)
		}},
	)
}

// put moves a file from one node to the other and compares what arrived.
func (l *lab) put(ctx context.Context, from, to *node) (string, error) {
	sent, content, err := l.randomFile("sent")
	if err != nil {
		return "", err
	}
	arrived := filepath.Join(l.dir, "arrived")
	sink, err := l.background(ctx, to, slices.Concat(
		[]string{"msg", "sink", "--size", strconv.Itoa(size), "--count", "1", "--out", arrived}, putTo)...)
	if err != nil {
		return "", err
	}
	defer sink.stop()
	if _, err := l.lnetctl(ctx, from, slices.Concat([]string{"msg", "put", to.nid, "--ack", sent}, putTo)...); err != nil {
		return "", err
	}
	if err := sink.wait(); err != nil {
		return "", err
	}
	return "acknowledged, content equal", sameContent(arrived, content)
}

// get fetches a file that the other node serves and compares it.
func (l *lab) get(ctx context.Context, from, to *node) (string, error) {
	served, content, err := l.randomFile("served")
	if err != nil {
		return "", err
	}
	fetched := filepath.Join(l.dir, "fetched")
	serve, err := l.background(ctx, to, slices.Concat([]string{"msg", "serve", served}, getFrom)...)
	if err != nil {
		return "", err
	}
	defer serve.stop()
	_, err = l.lnetctl(ctx, from, slices.Concat(
		[]string{"msg", "get", to.nid, "--length", strconv.Itoa(size), "--out", fetched}, getFrom)...)
	if err != nil {
		return "", err
	}
	return "replied, content equal", sameContent(fetched, content)
}

// putNowhere sends to a portal without match entries, and waits until the drop is counted.
func (l *lab) putNowhere(ctx context.Context, from, to *node) (string, error) {
	before, err := l.drops(ctx, to)
	if err != nil {
		return "", err
	}
	file := filepath.Join(l.dir, "nowhere")
	if err := os.WriteFile(file, []byte("for nobody"), 0o600); err != nil {
		return "", err
	}
	if _, err := l.lnetctl(ctx, from, slices.Concat([]string{"msg", "put", to.nid, file}, nowhere)...); err != nil {
		return "", err
	}
	after := before
	err = until(ctx, 20*time.Millisecond, func() (missing string, err error) {
		if after, err = l.drops(ctx, to); after > before {
			return "", err
		}
		return fmt.Sprintf("drop_count of %s stays %d", to.nid, after), err
	})
	return fmt.Sprintf("dropped, drop_count %d -> %d", before, after), err
}

var dropCount = regexp.MustCompile(`(?m)^\s*drop_count: (\d+)$`)

// drops reads a node's count of dropped messages.
func (l *lab) drops(ctx context.Context, n *node) (int, error) {
	stats, err := l.lnetctl(ctx, n, "stats", "show")
	if err != nil {
		return 0, err
	}
	m := dropCount.FindStringSubmatch(stats)
	if m == nil {
		return 0, fmt.Errorf("no drop_count in the statistics:\n%s", stats)
	}
	return strconv.Atoi(m[1])
}

// randomFile makes a file of random bytes.
func (l *lab) randomFile(name string) (path string, content []byte, err error) {
	content = make([]byte, size)
	rand.Read(content)
	path = filepath.Join(l.dir, name)
	return path, content, os.WriteFile(path, content, 0o600)
}

func sameContent(file string, want []byte) error {
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("%d bytes arrived that differ from the %d sent", len(got), len(want))
	}
	return nil
}

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/cmd/internal/cli"
	"ulnet/scoll/tree"
)

var update = flag.Bool("update", false, "write the tables and trees of docs/collectives.md anew")

// TestDocument: docs/collectives.md shows the output of this command, and the recommendations
// that it computes. The flag -update writes both into the document.
func TestDocument(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "collectives.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(b), "```text\n$ scollctl ")
	if len(blocks) < 3 {
		t.Fatal("docs/collectives.md shows no tree")
	}
	want := blocks[0]
	for _, block := range blocks[1:] {
		args, _, _ := strings.Cut(block, "\n")
		_, after, _ := strings.Cut(block, "\n```")
		var out, errs bytes.Buffer
		env := cli.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
		if code := run(t.Context(), env, strings.Fields(args)); code != cli.OK {
			t.Fatalf("%s: %s", args, errs.String())
		}
		want += "```text\n$ scollctl " + args + "\n" + strings.TrimRight(out.String(), "\n") + "\n```" + after
	}
	before, rest, _ := strings.Cut(want, "<!-- choosing -->\n")
	_, after, found := strings.Cut(rest, "\nTimes are in o")
	if !found {
		t.Fatal("no table of recommendations")
	}
	want = before + "<!-- choosing -->\n" + recommendations() + "\nTimes are in o" + after
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	} else if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("docs/collectives.md, -update writes it (-want +got):\n%s", diff)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recommendations returns a table for several numbers of nodes and several ratios of latency to
// overhead (l/o). Each cell has the K of the recommended k-nomial tree, and how long a message
// from the root takes to reach all nodes: in that tree, in a binomial tree, and in the fastest
// tree there is. The unit of these times is the overhead.
func recommendations() string {
	var b strings.Builder
	ratios := []int{1, 2, 4, 8, 16}
	b.WriteString("| nodes |")
	for _, l := range ratios {
		fmt.Fprintf(&b, " l/o %d |", l)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(ratios)) + "\n")
	for _, n := range []int{16, 64, 256, 1024, 4096} {
		fmt.Fprintf(&b, "| %d |", n)
		for _, l := range ratios {
			latency, overhead := time.Duration(l)*time.Second, time.Second
			k := tree.Recommend(n, latency, overhead)
			in := func(d time.Duration) int { return int(d / overhead) }
			fmt.Fprintf(&b, " K %d: %d (binomial %d, best %d) |", int(k), in(tree.Latency(k, n, latency, overhead)),
				in(tree.Latency(tree.KNomial(2), n, latency, overhead)), in(tree.Optimum(n, latency, overhead)))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

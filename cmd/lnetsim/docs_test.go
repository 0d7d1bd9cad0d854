package main

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/sim/scenario"
)

var rewriteDocs = flag.String("rewrite-docs", "", "run those sweeps of docs/membership-scale.md and docs/gossip-tuning.md whole that have this in their command, as 'sweep' has all, and write their output and plots anew")

const (
	scalePage  = "docs/membership-scale.md"
	tuningPage = "docs/gossip-tuning.md"
)

// shown is a command in a document, and the output that the document shows for it.
type shown struct {
	words  []string
	output string // the output without its last newline
}

// commands returns those commands of a document that begin with the text in the parameter what.
// They are lines of sh blocks; each comes with the output in the block after it.
func commands(text, what string) (list []shown) {
	for {
		_, after, found := strings.Cut(text, "```sh")
		if !found {
			return list
		}
		_, after, _ = strings.Cut(after, "\n") // after "sh" the line has the reason why docstest does not run the block
		command, rest, _ := strings.Cut(after, "\n```\n")
		text = rest
		if i := strings.Index(command, what); i >= 0 {
			_, output, _ := strings.Cut(rest, "```\n")
			output, _, _ = strings.Cut(output, "\n```\n")
			list = append(list, shown{split(command[i+len("lnetsim "):]), output})
		}
	}
}

// split splits a command as a shell does, as far as documents need it.
func split(command string) (words []string) {
	word, quoted, some := "", false, false
	for _, r := range strings.ReplaceAll(command, "\\\n", "") {
		switch {
		case r == '\'':
			quoted, some = !quoted, true
		case r == ' ' && !quoted:
			if some {
				words = append(words, word)
			}
			word, some = "", false
		default:
			word, some = word+string(r), true
		}
	}
	if some {
		words = append(words, word)
	}
	return words
}

// root changes to the root of the repository, where the commands of documents are meant to run.
func root(t *testing.T, page string) string {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestScaleSweeps: the sweeps of docs/membership-scale.md print what the document shows. By
// default only the first row of a small size is checked, with ULNET_LONG all rows.
// The flag -rewrite-docs rewrites the document.
func TestScaleSweeps(t *testing.T) { testSweeps(t, scalePage, 8) }

// TestTuningSweeps: docs/gossip-tuning.md shows what its sweeps print.
func TestTuningSweeps(t *testing.T) { testSweeps(t, tuningPage, 2) }

// testSweeps runs the sweeps of a page, which must have at least the given number of them.
func testSweeps(t *testing.T, page string, least int) {
	effort.OneGoroutine(t) // one goroutine is enough here, as TestSweep runs several plans at a time
	text := root(t, page)
	list := commands(text, "lnetsim sweep ")
	if len(list) < least {
		t.Fatalf("only %d sweeps", len(list))
	}
	most, rows := 64.0, 1
	switch {
	case *rewriteDocs != "":
		rewriteSweeps(t, page, text, list)
		return
	case effort.Sweeping():
		most, rows = math.Inf(1), math.MaxInt
	case effort.Long():
		most, rows = 512, math.MaxInt
	case testing.Short():
		list = nil
	}
	for _, s := range list {
		words, plot := forTest(t, s.words, most, rows)
		if words == nil {
			continue
		}
		code, out, errs := simulate(t, words...)
		if code != cli.OK {
			t.Errorf("%v: exit code %d\n%s", words, code, errs)
			continue
		}
		compare(t, words, s.output, out)
		if _, err := os.Stat(plot); plot != "" && err != nil {
			t.Errorf("the plot is missing, -rewrite-docs draws it: %v", err)
		}
		if plot != "" && !strings.Contains(text, "("+strings.TrimPrefix(plot, "docs/")+")") {
			t.Errorf("%s is not shown", plot)
		}
	}
}

// rewriteSweeps runs all sweeps in full, one after the other, and writes their output to the
// document.
func rewriteSweeps(t *testing.T, page, text string, list []shown) {
	t.Helper()
	for _, s := range list {
		if !strings.Contains(strings.Join(s.words, " "), *rewriteDocs) {
			continue
		}
		t.Log(s.words)
		code, out, errs := simulate(t, s.words...)
		if code != cli.OK {
			t.Errorf("exit code %d\n%s", code, errs)
			continue
		}
		text = strings.Replace(text, "\n"+s.output+"\n", "\n"+out, 1)
		if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// forTest returns the words of a sweep as a test runs it, with another file for the plot, and the plot's file
// in the document. The sweep has the first rows, up to a number, of those with at most so many nodes; small is nil
// if there is none.
func forTest(t *testing.T, words []string, most float64, rows int) (small []string, plot string) {
	t.Helper()
	v, err := parseVary(following(words, "--vary"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseFile(words[1])
	if err != nil {
		t.Fatal(err)
	}
	var steps []int
	for i := range v.x {
		nodes := float64(f.Nodes)
		if k := slices.Index(v.keys, "nodes"); k >= 0 {
			nodes, _ = parseNumber(v.values[k][i])
		}
		if nodes <= most {
			steps = append(steps, i)
		}
	}
	if len(steps) == 0 {
		return nil, ""
	}
	steps = steps[:min(rows, len(steps))]
	small = slices.Clone(words)
	vary := 0
	for i, w := range words {
		switch {
		case i == 0:
		case words[i-1] == "--plot":
			plot, small[i] = w, filepath.Join(t.TempDir(), "x.svg")
		case words[i-1] == "--vary":
			var values []string
			for _, k := range steps {
				values = append(values, v.values[vary][k])
			}
			small[i] = v.keys[vary] + "=" + strings.Join(values, ",")
			vary++
		}
	}
	return small, plot
}

// following returns the words that follow a flag.
func following(words []string, flag string) (list []string) {
	for i := 1; i < len(words); i++ {
		if words[i-1] == flag {
			list = append(list, words[i])
		}
	}
	return list
}

// compare compares a command's output with what a document shows: the rows must exist, and the
// medians in each must agree within a sixth.
func compare(t *testing.T, words []string, shown, got string) {
	t.Helper()
	rows := make(map[string][]string)
	for line := range strings.Lines(shown) {
		c := cells(line)
		rows[c[0]] = c[1:]
	}
	for line := range strings.Lines(got) {
		c := cells(line)
		want := rows[c[0]]
		if len(want) != len(c)-1 {
			t.Errorf("%v: printed %q, the document has %q; -rewrite-docs writes it", words, c, want)
			continue
		}
		for i, cell := range c[1:] {
			a, _, _ := strings.Cut(cell, " ")
			b, _, _ := strings.Cut(want[i], " ")
			x, err1 := strconv.ParseFloat(a, 64)
			y, err2 := strconv.ParseFloat(b, 64)
			if a != b && (err1 != nil || err2 != nil || math.Abs(x-y) > max(math.Abs(x), math.Abs(y))/6) {
				t.Errorf("%v: %s: %q, the document has %q; -rewrite-docs writes it", words, c[0], cell, want[i])
			}
		}
	}
}

// cells returns the cells of a row of a table.
func cells(line string) (list []string) {
	for c := range strings.SplitSeq(strings.TrimSuffix(line, "\n"), "  ") {
		if c = strings.TrimSpace(c); c != "" {
			list = append(list, c)
		}
	}
	return append(list, make([]string, max(0, 1-len(list)))...)
}

// TestScaleRuns: the runs of docs/membership-scale.md use scenarios that exist and that expect
// what the document says. With ULNET_LONG, the test runs all but the largest scenario.
func TestScaleRuns(t *testing.T) {
	list := commands(root(t, scalePage), "lnetsim run ")
	if len(list) < 2 {
		t.Fatalf("only %d runs", len(list))
	}
	for _, s := range list {
		f, err := parseFile(s.words[1])
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range strings.Split(s.output, "\n")[1:] {
			c := cells(row)
			if len(c) != 3 || !strings.HasPrefix(c[2], "ok") || !strings.Contains(string(f.Format()), c[1]+"\n") {
				t.Errorf("%v does not have %q", s.words, row)
			}
		}
		if os.Getenv("ULNET_LONG") == "" || f.Memory(scenario.Machines, f.Nodes) > 4<<30 {
			continue
		}
		if code, out, errs := simulate(t, s.words...); code != cli.OK {
			t.Errorf("%v: exit code %d\n%s%s", s.words, code, out, errs)
		}
	}
}

// TestScaleScenarios: the scenarios next to the document are formatted.
func TestScaleScenarios(t *testing.T) {
	text := root(t, scalePage)
	files, err := filepath.Glob("docs/membership/*.sim")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != string(f.Format()) {
			t.Errorf("%s is not in its usual form: %v\n%s", name, err, f.Format())
		}
		if !strings.Contains(text, name) {
			t.Errorf("%s is in no command", name)
		}
	}
}

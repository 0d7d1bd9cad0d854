package engine

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/lndtest/spec"
	"ulnet/scoll/wire"
)

var update = flag.Bool("update", false, "write the table of docs/collectives.md anew")

var document = filepath.Join("..", "..", "docs", "collectives.md")

// TestDocumentTimeouts: the table of timeouts in the document has the times that the code waits
// for (SC-141, SC-A8). The flag -update rewrites it.
func TestDocumentTimeouts(t *testing.T) {
	spec.Covers(t, "SC-141", "SC-A8")
	var b strings.Builder
	b.WriteString("| R | g | P | bulk data | T(1) | T(2) | T(3) | T(4) | T(10) |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range []struct {
		rtt, processing time.Duration
		bulk            uint64
		bulkText        string
	}{
		{rtt: 10 * time.Millisecond},
		{rtt: 10 * time.Millisecond, processing: time.Second},
		{rtt: 10 * time.Millisecond, bulk: 1 << 20, bulkText: "1 MiB"},
		{rtt: time.Millisecond},
		{rtt: time.Millisecond, processing: time.Second, bulk: 64 << 20, bulkText: "64 MiB"},
		{rtt: 100 * time.Millisecond, processing: 30 * time.Second},
	} {
		cfg := Config{RTT: c.rtt}.filled()
		h := wire.RequestHeader{RTT: cfg.RTT, Guard: cfg.Guard, BulkTime: cfg.bulkTime(c.bulk)}
		fmt.Fprintf(&b, "| %v | %v | %v | %s |", c.rtt, h.Guard, c.processing, c.bulkText)
		for _, depth := range []int{1, 2, 3, 4, 10} {
			fmt.Fprintf(&b, " %v |", childTimeout(&h, depth, c.processing).Round(10*time.Microsecond))
		}
		b.WriteByte('\n')
	}
	old, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(old)
	before, rest, _ := strings.Cut(text, "<!-- timeouts -->\n")
	_, after, found := strings.Cut(rest, "\nIn a binomial tree")
	want := before + "<!-- timeouts -->\n" + b.String() + "\nIn a binomial tree" + after
	switch {
	case !found:
		t.Fatal("no table of time-outs")
	case *update:
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	case want != text:
		t.Errorf("docs/collectives.md, -update writes it (-want +got):\n%s", cmp.Diff(want, text))
	}
}

package readloop_test

import (
	"testing"

	"ulnet/lnd/lndtest/rows"
)

// TestRowsNamed: each rule of read loops in docs/spec/lnet-rules.md is named by a test that shows it.
func TestRowsNamed(t *testing.T) { rows.Documented(t, "../../docs/spec/lnet-rules.md", "LF") }

package metrics

import (
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/web"
	"ulnet/lnd/lndtest/spec"
)

// TestServesPage: at an address that other hosts can reach, the page is served only if metrics_page is
// "on".
func TestServesPage(t *testing.T) {
	spec.Covers(t, "OP-68")
	for text, local := range map[string]bool{
		"9420": true, "127.0.0.1:9420": true, "[::1]:9420": true, "/run/lnetd/metrics": true,
		"0.0.0.0:9420": false, "[::]:9420": false, "10.0.0.1:9420": false,
	} {
		at, err := web.ParseAddress(text)
		if err != nil {
			t.Fatal(err)
		}
		for setting, want := range map[string]bool{config.PageLocal: local, config.PageOn: true, config.PageOff: false} {
			if got := servesPage(setting, at); got != want {
				t.Errorf("%s with metrics_page %s: %v", text, setting, got)
			}
		}
	}
}

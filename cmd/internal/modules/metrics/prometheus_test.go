package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/latency"
)

// TestPrometheus: Prometheus finds the median of a histogram, with and without its feature of native
// histograms, by the expression of dashboards and alerts. A native histogram is more exact: its
// bucket for 500 ms begins at 420 ms, and the classic bucket at 250 ms. The expression of the alerts is
// evaluated here because promtool of version 2.42 takes no native histograms as input.
func TestPrometheus(t *testing.T) {
	if !effort.Long() {
		t.Skip("runs Prometheus twice, with ULNET_LONG=1")
	}
	spec.Covers(t, "OP-92")
	path := needs.Program(t, "prometheus")
	var h latency.Histogram
	page := httptest.NewServer(pageOver(func() latency.Snapshot { // each scrape finds 20 operations more
		for range 20 {
			h.Record(500 * time.Millisecond)
		}
		return h.Snapshot()
	}))
	defer page.Close()
	for name, c := range map[string]struct {
		args   []string
		low    float64 // lower bound, in seconds, of the bucket that has the median
		absent string  // series that this Prometheus must not have: it stores either native histograms or classic buckets
	}{
		"native":  {[]string{"--enable-feature=native-histograms"}, 0.42, putAck + "_bucket"},
		"classic": {nil, 0.25, putAck},
	} {
		t.Run(name, func(t *testing.T) {
			api := startPrometheus(t, path, page.Listener.Addr().String(), c.args...)
			median := fmt.Sprintf("histogram_quantile(0.5, %s) or histogram_quantile(0.5, %[1]s_bucket)", putAck)
			got := 0.0
			lndtest.Poll(func() bool {
				got = ask(t, api, median)
				return got != 0
			})
			if got < c.low || got > 0.5 {
				t.Errorf("the median is %v s, want one in [%v, 0.5]", got, c.low)
			}
			slow := expand(t, medianAbove("put_ack_latency_seconds", "0.3"))
			if !lndtest.Poll(func() bool { return ask(t, api, slow) > 0.3 }) {
				t.Errorf("no result of %s", slow)
			}
			few := strings.ReplaceAll(slow, ">= 10", ">= 1e9")
			if n := ask(t, api, few); few == slow || n != 0 {
				t.Errorf("%s: %v", few, n)
			}
			if n := ask(t, api, "count("+c.absent+")"); n != 0 {
				t.Errorf("%s: %v series", c.absent, n)
			}
		})
	}
}

// startPrometheus starts a Prometheus that scrapes an address each second, and returns the URL of its
// queries.
func startPrometheus(t *testing.T, path, target string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := "global: {scrape_interval: 1s}\nscrape_configs: [{job_name: a, static_configs: [{targets: ['" + target + "']}]}]\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	host := netip.MustParseAddr("127.0.0.1")
	port, err := loopback.FreePort(host)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(host, port).String()
	cmd := exec.CommandContext(t.Context(), path, append(args, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at)...)
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	return "http://" + at + "/api/v1/query?query="
}

// ask returns the value of an expression, or 0 if it has none yet.
func ask(t *testing.T, api, expr string) float64 {
	t.Helper()
	answer, err := http.Get(api + url.QueryEscape(expr))
	if err != nil {
		return 0 // Prometheus does not answer yet
	}
	defer answer.Body.Close()
	var r struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&r); err != nil || len(r.Data.Result) != 1 {
		return 0
	}
	v, err := strconv.ParseFloat(fmt.Sprint(r.Data.Result[0].Value[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

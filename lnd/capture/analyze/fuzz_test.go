package analyze

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/spec"
)

// tiny are bounds that small captures reach.
var tiny = limits{open: 4, answered: 2, kinds: 2, pairs: 2, links: 2, conns: 4, cookies: 2}

// FuzzAnalyze: a report on any bytes is consistent and within its bounds, and the same bytes give
// the same report. The seeds are captures of kernel nodes.
func FuzzAnalyze(f *testing.F) {
	spec.Covers(f, "DG-8", "DG-9")
	for _, pattern := range []string{"../testdata/*.pcap", "../testdata/captures2/*.gz"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 5 {
			f.Fatal(files, err)
		}
		for _, file := range files {
			if b := readSeed(f, file); len(b) < 50<<10 {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		for _, l := range []limits{tiny, usualLimits} {
			a, r := analyzeBytes(file, l)
			checkReport(t, a, r)
			if _, again := analyzeBytes(file, l); !reflect.DeepEqual(r, again) {
				t.Fatal("another report on the same capture")
			}
		}
	})
}

func readSeed(f *testing.F, file string) []byte {
	f.Helper()
	in, err := os.Open(file)
	if err != nil {
		f.Fatal(err)
	}
	defer in.Close()
	r := io.Reader(in)
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(in); err != nil {
			f.Fatal(err)
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

func analyzeBytes(file []byte, l limits) (*Analyzer, *Report) {
	a := newAnalyzer(Config{Services: []Service{selftest, Ptlrpc()}, Listed: 3}, l)
	d := capture.NewDissector(capture.Options{KeepPayload: 256}, a.Record)
	r, err := capture.NewReader(bytes.NewReader(file))
	for err == nil {
		var p capture.Packet
		if p, err = r.Next(); err == nil {
			d.Packet(p.Time, p.Link, p.Data)
		}
	}
	d.Close()
	return a, a.Report(time.Time{})
}

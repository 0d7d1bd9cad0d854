package metrics

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"ulnet/lnd/lndtest/spec"
	"ulnet/lnet/latency"
)

// wantsProtobuf is the header Accept of a Prometheus that takes native histograms.
const wantsProtobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6," +
	"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"

// times are such that they lie in the first and the last bucket of a latency.Histogram, in two
// neighbouring ones, and below, between, at and above the bounds of classic buckets.
var times = []time.Duration{0, 100, time.Microsecond, 400 * time.Millisecond, 500 * time.Millisecond, 500*time.Millisecond + 1, time.Minute, time.Hour}

// pageWith returns a metrics page on which s is the histogram of the times of PUTs.
func pageWith(s latency.Snapshot) *scrapes {
	return pageOver(func() latency.Snapshot { return s })
}

// pageOver returns a metrics page that calls s in each scrape, for the histogram of the times of PUTs.
func pageOver(s func() latency.Snapshot) *scrapes {
	return newScrapes(newGatherer(func(peers *peerSet) *state {
		all := fullState(peers)
		all.status.Latency.PutAck = s()
		return all
	}, 1), silent)
}

// scraped returns a metric of an answer in a format.
func scraped(t *testing.T, p *scrapes, f format, name string) *dto.MetricFamily {
	t.Helper()
	w := scrape(t, p, "Accept", []string{text: "text/plain", protobuf: wantsProtobuf}[f])
	if got := w.Header().Get("Content-Type"); w.Code != 200 || got != string(formats[f]) {
		t.Fatalf("status %d, type %q, want %q", w.Code, got, formats[f])
	}
	if f == text {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return families[name]
	}
	decoder := expfmt.NewDecoder(w.Body, formats[f])
	for {
		family := new(dto.MetricFamily)
		if err := decoder.Decode(family); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if family.GetName() == name {
			return family
		}
	}
}

const putAck = namespace + "put_ack_latency_seconds"

// TestClassicHistogram: both formats have the classic buckets, with all operations up to each bound.
func TestClassicHistogram(t *testing.T) {
	spec.Covers(t, "OP-92")
	p := pageWith(timesOf(times...))
	for f := range formats {
		h := scraped(t, p, format(f), putAck).Metric[0].Histogram
		sum := 0.0
		for _, d := range times {
			sum += d.Seconds()
		}
		if h.GetSampleCount() != uint64(len(times)) || math.Abs(h.GetSampleSum()-sum) > 1e-9 {
			t.Errorf("%s: %d operations, %v s; want %d, %v s", formats[f], h.GetSampleCount(), h.GetSampleSum(), len(times), sum)
		}
		last := -1.0
		for _, b := range h.Bucket {
			want := uint64(0)
			for _, d := range times {
				if d.Seconds() <= b.GetUpperBound() {
					want++
				}
			}
			if b.GetCumulativeCount() != want || b.GetUpperBound() <= last {
				t.Errorf("%s: %d up to %v s, want %d", formats[f], b.GetCumulativeCount(), b.GetUpperBound(), want)
			}
			last = b.GetUpperBound()
		}
		if n := len(h.Bucket); n < 20 || n > 30 {
			t.Errorf("%s: %d buckets", formats[f], n)
		}
	}
}

// TestNativeHistogram: in the protobuf format, a histogram of latencies also has native buckets. They count
// each operation, in the bucket whose range contains the latency of the operation.
func TestNativeHistogram(t *testing.T) {
	spec.Covers(t, "OP-92")
	got := map[time.Duration]int64{}
	h := scraped(t, pageWith(timesOf(times...)), protobuf, putAck).Metric[0].Histogram
	each(h, func(above, upTo float64, count int64) {
		for _, d := range times {
			if s := d.Seconds(); s > above && s <= upTo && count > 0 {
				got[d]++
				count--
			}
		}
		if count != 0 {
			t.Errorf("%d operations in (%v, %v] took another time", count, above, upTo)
		}
	})
	want := map[time.Duration]int64{}
	for _, d := range times {
		want[d] = 1
	}
	delete(want, time.Hour) // an hour is in the bucket of the longest times, which the function each leaves out
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// each calls f with the range and the count of each bucket of a native histogram, by the
// specification of Prometheus, except the bucket of the longest times.
func each(h *dto.Histogram, f func(above, upTo float64, count int64)) {
	f(-1, h.GetZeroThreshold(), int64(h.GetZeroCount()))
	index, count, deltas := int32(0), int64(0), h.PositiveDelta
	bound := func(i int32) float64 { return math.Exp2(float64(i) / math.Exp2(float64(h.GetSchema()))) }
	for _, span := range h.PositiveSpan {
		index += span.GetOffset()
		for range span.GetLength() {
			count += deltas[0]
			if deltas = deltas[1:]; index < latency.Last {
				f(bound(index-1), bound(index), count)
			}
			index++
		}
	}
}

// TestEmptyHistogram: a node that has timed nothing has the histograms all the same, also native ones.
func TestEmptyHistogram(t *testing.T) {
	p := pageWith(latency.Snapshot{})
	h := scraped(t, p, protobuf, putAck).Metric[0].Histogram
	if h.GetSampleCount() != 0 || h.Schema == nil || h.GetZeroThreshold() == 0 {
		t.Errorf("%v", h)
	}
	if h := scraped(t, p, text, putAck).Metric[0].Histogram; h.GetSampleCount() != 0 || len(h.Bucket) == 0 {
		t.Errorf("%v", h)
	}
}

// TestFormats: a client gets the format that it wants most, and the text format if it says nothing.
func TestFormats(t *testing.T) {
	p := pageOf(1)
	protobufOnly, _, _ := strings.Cut(wantsProtobuf, ";q=")
	for accept, want := range map[string]format{
		"": text, "*/*": text, "text/html": text, "text/plain": text, "application/openmetrics-text;version=1.0.0,*/*;q=0.1": text,
		wantsProtobuf: protobuf, protobufOnly: protobuf, protobufOnly + ";q=0.2,text/plain;version=0.0.4;q=0.3": text,
		"application/vnd.google.protobuf": text, "application/json": text, ";;,q=": text, strings.Repeat("a/b,", 1000): text,
	} {
		w := scrape(t, p, "Accept", accept, "Accept-Encoding", "identity")
		if got := w.Header().Get("Content-Type"); w.Code != 200 || got != string(formats[want]) {
			t.Errorf("%.60q: status %d, %q, want %q", accept, w.Code, got, formats[want])
		}
		if bytes.Contains(w.Body.Bytes(), []byte("# HELP ")) != (want == text) {
			t.Errorf("%.60q: the body is not in the format", accept)
		}
	}
}

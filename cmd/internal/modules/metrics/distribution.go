package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"ulnet/lnet/latency"
)

// The bounds of classic buckets are 2^firstBound seconds, about a microsecond, and so on to
// 2^lastBound seconds, each twice the one before.
const (
	firstBound = -20
	lastBound  = 6
)

// undescribed is a placeholder: the function that makes a histogram requires a description, but name and help
// come from the table of metrics.
var undescribed = prometheus.NewDesc("latency", "", nil, nil)

// distribution returns a histogram as Prometheus wants it, native and with classic buckets: the protobuf
// format has both, the text format has only the classic buckets.
func distribution(from *latency.Snapshot) *dto.Histogram {
	positive, zero := map[int]int64{}, uint64(0)
	for _, b := range from.Buckets {
		if b.Index == latency.First {
			zero = b.Count
		} else {
			positive[b.Index] = int64(b.Count)
		}
	}
	threshold := math.Exp2(float64(latency.First) / latency.PerOctave)
	var m dto.Metric
	err := prometheus.MustNewConstNativeHistogram(undescribed, from.Count(), from.Sum.Seconds(), positive, nil, zero, latency.Schema, threshold, time.Time{}).Write(&m)
	if err != nil {
		panic(err) // cannot happen: Write only copies
	}
	m.Histogram.CreatedTimestamp = nil // left out, because the counters on the page have no timestamp of their creation either
	m.Histogram.Bucket = classic(from)
	return m.Histogram
}

// classic returns cumulative buckets. It leaves out the bucket +Inf, which has all operations, because
// the histogram's count is that number.
func classic(from *latency.Snapshot) (buckets []*dto.Bucket) {
	sum, rest := uint64(0), from.Buckets
	for e := firstBound; e <= lastBound; e++ {
		for len(rest) > 0 && rest[0].Index <= e*latency.PerOctave {
			sum += rest[0].Count
			rest = rest[1:]
		}
		buckets = append(buckets, &dto.Bucket{UpperBound: new(math.Exp2(float64(e))), CumulativeCount: new(sum)})
	}
	return buckets
}

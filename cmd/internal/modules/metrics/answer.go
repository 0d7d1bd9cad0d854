package metrics

import (
	"bytes"
	"compress/gzip"
	"sync"
	"sync/atomic"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// zippers keeps gzip writers for later answers: making one allocates about a megabyte.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // cannot fail: the level is a known one
	return z
}}

// answer is the answer to a scrape in all formats, each of which is made when a client first wants it.
// Many requests read it at the same time.
type answer struct {
	families []*dto.MetricFamily
	err      error // the metrics could not be read
	forms    [len(formats)]form
	sizes    *sizes
}

// sizes has, for each format, the size in bytes of the buffer for the next answer: an eighth more than the
// last answer had.
type sizes [len(formats)]atomic.Int64

// form is an answer in one format.
type form struct {
	once  sync.Once
	plain bytes.Buffer
	err   error

	zipOnce sync.Once
	zip     bytes.Buffer
}

// in returns the answer in a format. The caller must not change it.
func (a *answer) in(f format) ([]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	to := &a.forms[f]
	to.once.Do(func() {
		to.plain.Grow(int(a.sizes[f].Load()))
		e := expfmt.NewEncoder(&to.plain, formats[f])
		for i := 0; i < len(a.families) && to.err == nil; i++ {
			to.err = e.Encode(a.families[i])
		}
		a.sizes[f].Store(int64(to.plain.Len()) * 9 / 8) // an eighth more, because values may get longer
	})
	return to.plain.Bytes(), to.err
}

// compressed returns the answer in a format, as the method in has made it, compressed by gzip.
func (a *answer) compressed(f format) []byte {
	of := &a.forms[f]
	of.zipOnce.Do(func() {
		z := zippers.Get().(*gzip.Writer)
		defer zippers.Put(z)
		z.Reset(&of.zip)
		_, _ = z.Write(of.plain.Bytes()) // cannot fail: the writer writes to a buffer in memory
		_ = z.Close()
		z.Reset(nil) // otherwise the writer in the pool would keep the answer in memory
	})
	return of.zip.Bytes()
}

package link_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ulnet/lnd/link"
)

const ms = time.Millisecond

func TestParseChange(t *testing.T) {
	for _, c := range []struct {
		text, again string // text to parse; text that String returns for it, "" if that is the same text
		want        link.Change
	}{
		{"latency 1ms", "", link.Change{link.FieldLatency, link.Quality{Latency: link.Dist{Base: ms}}}},
		{"latency 0", "latency 0s", link.Change{link.FieldLatency, link.Quality{}}},
		{"latency 1ms±200µs", "", link.Change{link.FieldLatency, link.Quality{Latency: link.Dist{ms, ms / 5, link.Uniform}}}},
		{"latency 1ms+-0.2ms", "latency 1ms±200µs", link.Change{link.FieldLatency, link.Quality{Latency: link.Dist{ms, ms / 5, link.Uniform}}}},
		{"latency 1ms~0.2ms", "latency 1ms~200µs", link.Change{link.FieldLatency, link.Quality{Latency: link.Dist{ms, ms / 5, link.Normal}}}},
		{"latency 1ms+exp(0.2ms)", "latency 1ms+exp(200µs)", link.Change{link.FieldLatency, link.Quality{Latency: link.Dist{ms, ms / 5, link.Exponential}}}},
		{"loss 1%", "", link.Change{link.FieldLoss, link.Quality{Loss: 0.01}}},
		{"loss 0.25", "loss 25%", link.Change{link.FieldLoss, link.Quality{Loss: 0.25}}},
		{"loss -0%", "loss 0%", link.Change{link.FieldLoss, link.Quality{}}},
		{"duplicate 100% loss 1", "loss 100% duplicate 100%", link.Change{link.FieldDuplicate | link.FieldLoss, link.Quality{Loss: 1, Duplicate: 1}}},
		{"reorder 5% hold 3ms", "", link.Change{link.FieldReorder | link.FieldHold, link.Quality{Reorder: 0.05, Hold: link.Dist{Base: 3 * ms}}}},
		{"rate unlimited", "", link.Change{link.FieldRate, link.Quality{}}},
		{"rate 10Gbit", "", link.Change{link.FieldRate, link.Quality{Rate: 1e10}}},
		{"rate 2500Mbit/s", "rate 2.5Gbit", link.Change{link.FieldRate, link.Quality{Rate: 2.5e9}}},
		{"rate 1000Tbit", "", link.Change{link.FieldRate, link.Quality{Rate: 1e15}}},
		{"rate 1bit", "", link.Change{link.FieldRate, link.Quality{Rate: 1}}},
	} {
		got, err := link.ParseChange(strings.Fields(c.text))
		if err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v, want %+v", c.text, got, err, c.want)
			continue
		}
		if c.again == "" {
			c.again = c.text
		}
		if text := got.String(); text != c.again {
			t.Errorf("%s: text %s, want %s", c.text, text, c.again)
		}
	}
}

func TestParseChangeErrors(t *testing.T) {
	const (
		wantAll         = "want latency, rate, loss, duplicate, reorder, hold"
		wantLatency     = "want 1ms, 1ms±0.2ms, 1ms~0.2ms or 1ms+exp(0.2ms)"
		wantProbability = "want 0% to 100%, or 0 to 1"
		wantRate        = "want unlimited, or bits per second such as 100kbit, 10Mbit, 2.5Gbit, 1Tbit"
	)
	for _, c := range []struct {
		text string
		word int
		want string
	}{
		{"", 0, wantAll},
		{"los 1%", 0, `unknown word "los": ` + wantAll},
		{"latency", 0, "latency needs a value: 1ms, 1ms±0.2ms, 1ms~0.2ms or 1ms+exp(0.2ms)"},
		{"loss 1% rate", 2, "rate needs a value: bits per second such as 10Gbit, or unlimited"},
		{"loss 1% loss 2%", 2, "loss is given twice"},
		{"latency 1", 1, `latency: "1" is no duration: ` + wantLatency},
		{"latency -1ms", 1, `latency: "-1ms" is no duration: ` + wantLatency},
		{"latency 10001h", 1, `latency: "10001h" is no duration: ` + wantLatency},
		{"latency 1ms±", 1, `latency: "1ms±" is no duration: ` + wantLatency},
		{"latency ±1ms", 1, `latency: "±1ms" is no duration: ` + wantLatency},
		{"latency 1ms±-1ms", 1, `latency: "1ms±-1ms" is no duration: ` + wantLatency},
		{"latency 1ms+exp(1ms", 1, `latency: "1ms+exp(1ms" is no duration: ` + wantLatency},
		{"loss 1ms", 1, `loss: "1ms" is no probability: ` + wantProbability},
		{"loss 101%", 1, `loss: "101%" is no probability: ` + wantProbability},
		{"loss NaN", 1, `loss: "NaN" is no probability: ` + wantProbability},
		{"loss -0.1", 1, `loss: "-0.1" is no probability: ` + wantProbability},
		{"loss 1% rate 10", 3, `rate: "10" is no bandwidth: ` + wantRate},
		{"rate 0bit", 1, `rate: "0bit" is no bandwidth: ` + wantRate},
		{"rate -1Gbit", 1, `rate: "-1Gbit" is no bandwidth: ` + wantRate},
		{"rate Gbit", 1, `rate: "Gbit" is no bandwidth: ` + wantRate},
		{"rate 1001Tbit", 1, `rate: "1001Tbit" is no bandwidth: ` + wantRate},
		{"rate infGbit", 1, `rate: "infGbit" is no bandwidth: ` + wantRate},
		{"hold soon", 1, `hold: "soon" is no duration: ` + wantLatency},
	} {
		_, err := link.ParseChange(strings.Fields(c.text))
		e, ok := errors.AsType[*link.ParseError](err)
		if !ok || e.Word != c.word || e.Error() != c.want {
			t.Errorf("%s: got %v, want word %d, %s", c.text, err, c.word, c.want)
		}
	}
}

func TestApply(t *testing.T) {
	q := link.Quality{Loss: 0.5, Rate: 7, Latency: link.Dist{Base: ms}}
	c := link.Change{link.FieldLoss | link.FieldHold, link.Quality{Hold: link.Dist{Base: 2 * ms}, Rate: 9}}
	if got, want := c.Apply(q), (link.Quality{Rate: 7, Latency: link.Dist{Base: ms}, Hold: link.Dist{Base: 2 * ms}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text := q.String(); text != "latency 1ms rate 7bit loss 50%" {
		t.Errorf("text %s", text)
	}
	if text := (link.Quality{}).String(); text != "perfect" {
		t.Errorf("text %s", text)
	}
}

func drawDist(t *rapid.T, label string) link.Dist {
	d := link.Dist{
		Base:  time.Duration(rapid.Int64Range(0, int64(link.MaxDuration)).Draw(t, label)),
		Shape: rapid.SampledFrom([]link.Shape{link.Constant, link.Uniform, link.Normal, link.Exponential}).Draw(t, "shape"),
	}
	if d.Shape != link.Constant {
		d.Spread = time.Duration(rapid.Int64Range(0, int64(link.MaxDuration)).Draw(t, "spread"))
	}
	return d
}

// The text of any change is parsed to the same change.
func TestChangeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		probability := rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.01, 0.1, 1.0 / 3, 1}))
		all := link.Quality{
			Latency: drawDist(t, "latency"), Hold: drawDist(t, "hold"),
			Loss: probability.Draw(t, "loss"), Duplicate: probability.Draw(t, "duplicate"), Reorder: probability.Draw(t, "reorder"),
			Rate: rapid.Int64Range(0, 1e15).Draw(t, "rate"),
		}
		c := link.Change{Fields: link.Field(rapid.IntRange(1, 63).Draw(t, "fields"))}
		c.To = link.Change{c.Fields, all}.Apply(link.Quality{})
		got, err := link.ParseChange(strings.Fields(c.String()))
		if err != nil || got != c {
			t.Fatalf("%s: got %+v, %v, want %+v", c, got, err, c)
		}
	})
}

func FuzzParseChange(f *testing.F) {
	f.Add("latency 1ms±0.2ms loss 1%")
	f.Add("latency 1ms+-2ms duplicate 0.5 reorder 1e-3 hold 5ms+exp(1ms) rate 2.5Gbit/s")
	f.Add("hold 1h2m~3µs rate unlimited")
	f.Fuzz(func(t *testing.T, text string) {
		words := strings.Fields(text)
		c, err := link.ParseChange(words)
		if err != nil {
			if e, ok := errors.AsType[*link.ParseError](err); !ok || e.Word < 0 || e.Word > len(words) || e.Why == "" {
				t.Fatalf("%q: error %#v", text, err)
			}
			return
		}
		again, err := link.ParseChange(strings.Fields(c.String()))
		if err != nil || again != c {
			t.Fatalf("%q is %s, that is %+v, %v", text, c, again, err)
		}
	})
}

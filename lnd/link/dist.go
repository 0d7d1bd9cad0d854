package link

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Shape is the form of a [Dist] around its base.
type Shape uint8

// The shapes, with an example of their text.
const (
	Constant    Shape = iota // written as 1ms
	Uniform                  // 1ms±0.2ms, also 1ms+-0.2ms: anywhere from 0.8 ms to 1.2 ms
	Normal                   // written as 1ms~0.2ms: standard deviation 0.2 ms
	Exponential              // 1ms+exp(0.2ms): at least 1 ms, 1.2 ms on average
)

// Dist is a distribution of durations. The zero value is always 0, and no
// draw is negative.
type Dist struct {
	Base   time.Duration // the minimum, center or mean, by Shape
	Spread time.Duration // half width, standard deviation or mean, by Shape
	Shape  Shape         // how draws spread around Base
}

// Draw draws one duration.
func (d Dist) Draw(r *rand.Rand) time.Duration {
	v := d.Base
	switch d.Shape {
	case Uniform:
		v += time.Duration(r.Uint64N(2*uint64(d.Spread)+1)) - d.Spread
	case Normal:
		v += time.Duration(r.NormFloat64() * float64(d.Spread))
	case Exponential:
		v += time.Duration(r.ExpFloat64() * float64(d.Spread))
	}
	return max(v, 0)
}

// Mean is the mean of the distribution. The mean of the draws is higher if some draws would be negative,
// because Draw returns 0 for these.
func (d Dist) Mean() time.Duration {
	if d.Shape == Exponential {
		return d.Base + d.Spread
	}
	return d.Base
}

// Max is a duration that few draws exceed: none if the shape has bounds, else about one in ten
// million, or fewer.
func (d Dist) Max() time.Duration {
	switch d.Shape {
	case Uniform:
		return d.Base + d.Spread
	case Normal:
		return d.Base + 6*d.Spread
	case Exponential:
		return d.Base + 16*d.Spread
	}
	return d.Base
}

// String returns the text that [parseDist] takes.
func (d Dist) String() string {
	switch d.Shape {
	case Uniform:
		return fmt.Sprintf("%v±%v", d.Base, d.Spread)
	case Normal:
		return fmt.Sprintf("%v~%v", d.Base, d.Spread)
	case Exponential:
		return fmt.Sprintf("%v+exp(%v)", d.Base, d.Spread)
	}
	return d.Base.String()
}

// parseDist parses the text of a distribution, see [Shape].
func parseDist(s string) (Dist, error) {
	base, spread, shape := s, "", Constant
	for _, form := range []struct {
		mark, end string
		shape     Shape
	}{{"±", "", Uniform}, {"+-", "", Uniform}, {"~", "", Normal}, {"+exp(", ")", Exponential}} {
		if before, after, ok := strings.Cut(s, form.mark); ok && strings.HasSuffix(after, form.end) {
			base, spread, shape = before, strings.TrimSuffix(after, form.end), form.shape
			break
		}
	}
	d := Dist{Shape: shape}
	var err error
	if d.Base, err = parseDuration(base); err == nil && shape != Constant {
		d.Spread, err = parseDuration(spread)
	}
	if err != nil {
		return Dist{}, fmt.Errorf("%q is no duration: want 1ms, 1ms±0.2ms, 1ms~0.2ms or 1ms+exp(0.2ms)", s)
	}
	return d, nil
}

// maxDuration bounds every duration of a plan: sums of a few of them do not
// overflow.
const maxDuration = 10000 * time.Hour

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil && (d < 0 || d > maxDuration) {
		err = fmt.Errorf("%v is not between 0 and %v", d, maxDuration)
	}
	return d, err
}

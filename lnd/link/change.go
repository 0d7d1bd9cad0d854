package link

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Field names one field of a [Quality], such as its latency, that a word of a scenario changes.
type Field uint8

// The fields. Each is one bit, so that a set of fields is the sum of its members.
const (
	FieldLatency   Field = 1 << iota // in texts: latency DIST
	FieldLoss                        // in texts: loss P
	FieldDuplicate                   // in texts: duplicate P
	FieldReorder                     // in texts: reorder P
	FieldHold                        // in texts: hold DIST
	FieldRate                        // in texts: rate R
)

type word struct {
	name  string
	field Field
	want  string
}

// words has the keyword of each field, in the order in which a text lists the fields.
var words = []word{
	{"latency", FieldLatency, "1ms, 1ms±0.2ms, 1ms~0.2ms or 1ms+exp(0.2ms)"},
	{"rate", FieldRate, "bits per second such as 10Gbit, or unlimited"},
	{"loss", FieldLoss, "a probability such as 1% or 0.01"},
	{"duplicate", FieldDuplicate, "a probability such as 1% or 0.01"},
	{"reorder", FieldReorder, "a probability such as 1% or 0.01"},
	{"hold", FieldHold, "how long reordered messages are held back, as a latency"},
}

// Change is a change of some fields of a [Quality].
type Change struct {
	Fields Field   // the fields of Quality that change
	To     Quality // new values of the fields in Fields; the others are zero
}

// Apply returns q with the fields of c changed.
func (c Change) Apply(q Quality) Quality {
	for _, w := range words {
		if c.Fields&w.field == 0 {
			continue
		}
		switch v := c.To.at(w.field).(type) {
		case *Dist:
			*q.at(w.field).(*Dist) = *v
		case *float64:
			*q.at(w.field).(*float64) = *v
		case *int64:
			*q.at(w.field).(*int64) = *v
		}
	}
	return q
}

// at returns a pointer to the field f: a *Dist, a *float64 that is a probability, or the *int64 of Rate.
func (q *Quality) at(f Field) any {
	switch f {
	case FieldLatency:
		return &q.Latency
	case FieldLoss:
		return &q.Loss
	case FieldDuplicate:
		return &q.Duplicate
	case FieldReorder:
		return &q.Reorder
	case FieldHold:
		return &q.Hold
	}
	return &q.Rate
}

// Words returns the keywords that a change may contain, separated by ", ": for error messages, and for parsers
// that need the list.
func Words() string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = w.name
	}
	return strings.Join(names, ", ")
}

// ParseError says which word of a change is wrong.
type ParseError struct {
	Word int    // index of the wrong word
	Why  string // what is wrong with the word, and what is wanted
}

func (e *ParseError) Error() string { return e.Why }

// ParseChange parses words such as
//
//	latency 1ms±0.2ms loss 1%
//
// to their end. The error is a *ParseError.
func ParseChange(text []string) (Change, error) {
	var c Change
	if len(text) == 0 {
		return c, &ParseError{0, "want " + Words()}
	}
	for i := 0; i < len(text); i += 2 {
		k := slices.IndexFunc(words, func(w word) bool { return w.name == text[i] })
		switch {
		case k < 0:
			return c, &ParseError{i, fmt.Sprintf("unknown word %q: want %s", text[i], Words())}
		case i+1 == len(text):
			return c, &ParseError{i, fmt.Sprintf("%s needs a value: %s", text[i], words[k].want)}
		case c.Fields&words[k].field != 0:
			return c, &ParseError{i, fmt.Sprintf("%s is given twice", text[i])}
		}
		if err := c.To.set(words[k].field, text[i+1]); err != nil {
			return c, &ParseError{i + 1, fmt.Sprintf("%s: %v", text[i], err)}
		}
		c.Fields |= words[k].field
	}
	return c, nil
}

func (q *Quality) set(f Field, text string) (err error) {
	switch v := q.at(f).(type) {
	case *Dist:
		*v, err = parseDist(text)
	case *float64:
		*v, err = ParseProbability(text)
	case *int64:
		*v, err = ParseRate(text)
	}
	return err
}

// String returns the text that [ParseChange] takes.
func (c Change) String() string {
	var b []string
	for _, w := range words {
		if c.Fields&w.field != 0 {
			b = append(b, w.name, c.To.text(w.field))
		}
	}
	return strings.Join(b, " ")
}

func (q *Quality) text(f Field) string {
	switch v := q.at(f).(type) {
	case *Dist:
		return v.String()
	case *float64:
		return FormatProbability(*v)
	}
	return FormatRate(q.Rate)
}

// String returns what differs from a perfect link, or "perfect".
func (q Quality) String() string {
	c := Change{To: q}
	for _, w := range words {
		if (Change{w.field, q}).Apply(Quality{}) != (Quality{}) {
			c.Fields |= w.field
		}
	}
	if c.Fields == 0 {
		return "perfect"
	}
	return c.String()
}

// ParseProbability parses a probability such as 1% or 0.01.
func ParseProbability(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(number, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p >= 0 && p <= 1) { // NaN is no probability either
		return 0, fmt.Errorf("%q is no probability: want 0%% to 100%%, or 0 to 1", s)
	}
	return math.Abs(p), nil // turns -0 into 0
}

// FormatProbability returns a text that [ParseProbability] turns into exactly p: a percentage such as
// 1% if one has exactly this value, else a fraction such as 0.01.
func FormatProbability(p float64) string {
	if text := strconv.FormatFloat(p*100, 'g', -1, 64) + "%"; mustBe(text, p) {
		return text
	}
	return strconv.FormatFloat(p, 'g', -1, 64)
}

func mustBe(text string, p float64) bool {
	again, err := ParseProbability(text)
	return err == nil && again == p
}

// rateUnits are SI units of bits per second, the largest first.
var rateUnits = []struct {
	name string
	bits float64
}{{"Tbit", 1e12}, {"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// ParseRate parses a bandwidth such as 10Gbit (per second); unlimited is 0.
func ParseRate(s string) (int64, error) {
	if s == "unlimited" {
		return 0, nil
	}
	for _, u := range rateUnits {
		number, ok := strings.CutSuffix(strings.TrimSuffix(s, "/s"), u.name)
		if !ok {
			continue
		}
		if n, err := strconv.ParseFloat(number, 64); err == nil && n*u.bits >= 1 && n*u.bits <= 1e15 {
			return int64(math.Round(n * u.bits)), nil
		}
		break
	}
	return 0, fmt.Errorf("%q is no bandwidth: want unlimited, or bits per second such as 100kbit, 10Mbit, 2.5Gbit, 1Tbit", s)
}

// FormatRate returns the text that [ParseRate] takes.
func FormatRate(rate int64) string {
	if rate == 0 {
		return "unlimited"
	}
	for _, u := range rateUnits {
		if float64(rate) >= u.bits {
			return strconv.FormatFloat(float64(rate)/u.bits, 'g', -1, 64) + u.name
		}
	}
	return "0bit"
}

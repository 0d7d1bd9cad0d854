package statefiles

import (
	"testing"

	"ulnet/lnet/nid"
)

// TestFields: there is a line for each requested field, by its name in JSON and in the requested
// order, and none for a field behind a nil pointer. A declaration with the name of a field
// that does not exist is a programming error: File panics.
func TestFields(t *testing.T) {
	type part struct {
		Why  string `json:"why"`
		Many uint64 `json:"many"`
	}
	type status struct {
		part
		N     int     `json:"n"`
		Sure  bool    `json:"sure,omitempty"`
		Self  nid.NID `json:"self,omitzero"`
		RTT   float64 `json:"rtt_ms"`
		There *part   `json:"there"`
		Bare  struct{ Dead int }
	}
	const fields = `n=participants sure self? rtt_ms "why" there.many=behind Bare.Dead=dead many other`
	type other struct {
		Other int `json:"other"`
	}
	type whole struct {
		status
		*other
	}
	file := FieldsOf[whole]("f", fields)
	s := status{part: part{"a \"b\"\n", 1 << 63}, N: 3, RTT: 0.25}
	want := "participants 3\nsure no\nrtt_ms 0.25\nwhy \"a \\\"b\\\"\\n\"\ndead 0\nmany 9223372036854775808\nother 7\n"
	if got := file.File(&whole{s, &other{7}}); got.Name != "f" || string(got.Body) != want {
		t.Errorf("%q, want %q", got.Body, want)
	}
	s.Self, s.There, s.Sure = nid.MustParse("10.0.0.1@tcp"), &part{Many: 5}, true
	want = "participants 3\nsure yes\nself 10.0.0.1@tcp\nrtt_ms 0.25\nwhy \"a \\\"b\\\"\\n\"\nbehind 5\ndead 0\nmany 9223372036854775808\n"
	if got := file.File(&whole{s, nil}); string(got.Body) != want {
		t.Errorf("%q, want %q", got.Body, want)
	}
	for _, missing := range []string{"missing", "there.missing", "n.missing", "part"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s, which is not there, has a line", missing)
				}
			}()
			FieldsOf[status]("f", missing).File(&status{})
		}()
	}
}

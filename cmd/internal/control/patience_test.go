package control_test

import (
	"testing"

	. "ulnet/cmd/internal/control"
)

// TestLongQuestionsMayTakeLong: a client does not limit the time for the answer to a Long question. The
// client of this test waits 0 s for other answers: a Long question succeeds, and another question fails.
func TestLongQuestionsMayTakeLong(t *testing.T) {
	quick := Question[None, string]{Path: "/v1/quick", Doc: "answers"}
	long := Question[None, string]{Path: "/v1/long", Doc: "answers after long", Long: true}
	answer := Told(func() string { return "done" })
	d := serve(t, Config{Routes: []Route{quick.Do(answer), long.Do(answer)}})
	c := NewClient(d.path)
	c.SetBounds(0, 1<<20)
	if got, err := long.Call(t.Context(), c, None{}); err != nil || got != "done" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := quick.Call(t.Context(), c, None{}); err == nil || err.Error() != "lnetd has not answered in 0s" {
		t.Errorf("a question that is not long: %q, %v", got, err)
	}
}

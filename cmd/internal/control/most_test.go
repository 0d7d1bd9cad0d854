package control_test

import (
	"strings"
	"testing"

	. "ulnet/cmd/internal/control"
)

// TestMost: an action that takes longer requests than others takes them up to its own bound.
func TestMost(t *testing.T) {
	type text struct {
		Text string `json:"text"`
	}
	const most = MaxRequest + 1000
	got := make(chan int, 1)
	take := func(r text) error { got <- len(r.Text); return nil }
	d := serve(t, Config{Routes: []Route{
		Action[text]{Path: "/v1/long", Most: most}.Do(Act(take)), Action[text]{Path: "/v1/short"}.Do(Act(take)),
	}})
	for _, test := range []struct {
		path   string
		length int
		want   string
	}{
		{"/v1/long", most, ""},
		{"/v1/long", MaxRequest, ""},
		{"/v1/long", most + 1, `"request of more than 66536 bytes"`},
		{"/v1/long", 3 * MaxRequest, `"request of more than 66536 bytes"`},
		{"/v1/short", MaxRequest, ""},
		{"/v1/short", MaxRequest + 1, `"request of more than 65536 bytes"`},
	} {
		frame := len(`{"text":""}` + "\n")
		answer := d.talk(t, post(test.path, `{"text":"`+strings.Repeat("x", test.length-frame)+`"}`+"\n"))
		if test.want != "" {
			if !strings.Contains(answer, test.want) || len(got) > 0 {
				t.Errorf("%s, %d bytes: answer %.300q, want %q", test.path, test.length, answer, test.want)
			}
		} else if !strings.Contains(answer, "200 OK") || wait(t, got) != test.length-frame {
			t.Errorf("%s, %d bytes: answer %.300q", test.path, test.length, answer)
		}
	}
}

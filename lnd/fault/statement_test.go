package fault

import (
	"strings"
	"testing"
	"time"
)

func TestStatements(t *testing.T) {
	for text, want := range map[string]func(Snapshot) bool{
		"to 10.0.0.2@tcp loss 5%": func(s Snapshot) bool {
			return len(s.Rules) == 1 && s.Rules[0].Match == "to 10.0.0.2@tcp" && s.Rules[0].Effect == "loss 5%"
		},
		"partition 10.0.0.2@tcp | *@tcp1": func(s Snapshot) bool { return s.Partition == "10.0.0.2@tcp | *@tcp1" },
		"pause":                           func(s Snapshot) bool { return s.Paused && s.PauseLeft == 0 },
		"pause 1m0s":                      func(s Snapshot) bool { return s.Paused && s.PauseLeft > 30*time.Second },
	} {
		statement, err := ParseStatement("  " + text + " ")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if statement.String() != text {
			t.Errorf("%q prints as %q", text, statement)
		}
		if tabs, err := ParseStatement(strings.ReplaceAll(text, " ", "\t")); err != nil || tabs.String() != text {
			t.Errorf("with tabs: %q, %v", tabs, err)
		}
		b := newBench(t, Config{})
		if _, err := b.plan.Apply(statement); err != nil {
			t.Fatal(err)
		}
		if s := b.plan.Snapshot(); !want(s) || !s.Active() {
			t.Errorf("%s: %+v", text, s)
		}
		b.plan.Stop() // Stop stops the timer of the pause
		word, _, _ := strings.Cut(text, " ")
		if got := statement.Once(); got != strings.TrimPrefix(word, "to") {
			t.Errorf("%s: once %q", text, got)
		}
	}
	for text, why := range map[string]string{
		"": "an empty statement", "partition": "part without NIDs", "pause soon": "want such as 5s", "pause 0s": "want such as 5s",
		"pauses": "want partition or pause, or a rule: from",
	} {
		if _, err := ParseStatement(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

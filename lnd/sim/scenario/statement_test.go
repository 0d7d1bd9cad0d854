package scenario

import "strings"

// Form describes one form of a statement for people.
type Form struct {
	Text string // words in capitals stand for what a user writes there
	Doc  string // one line that explains the form
}

// Settings are the statements that say what the network is.
func Settings() []Form {
	list := []Form{{"protocol NAME", "what is simulated; the first line"}}
	for _, s := range settingForms {
		list = append(list, Form{join(s.name, s.form), s.doc})
	}
	return list
}

// Schedules are the statements that say when something happens.
func Schedules() []Form {
	return []Form{
		{"at TIME ACTION", "once"},
		{"every TIME [from TIME [to TIME]] ACTION", "again and again; without from, for the first time after TIME"},
		{"random faults N from TIME to TIME of KIND ...", "so many faults, drawn from the seed, each ended by then; kinds: " + strings.Join(randomKinds, ", ")},
	}
}

// Actions lists what "at" and "every" can do.
func Actions() []Form {
	var list []Form
	for _, a := range actions {
		list = append(list, Form{join(a.verb, a.form), a.doc})
	}
	return list
}

// Checks are the statements that say what is expected.
func Checks() []Form {
	return []Form{
		{"expect CONDITION", "at the end of the run"},
		{"expect CONDITION within TIME", "at some time within TIME after the at, every or random before it; those end with their last action"},
		{"expect CONDITION by TIME", "at some time up to TIME"},
		{"expect CONDITION at TIME", "at that very time"},
		{"expect CONDITION from TIME to TIME", "at some time between"},
		{"always CONDITION [from TIME [to TIME]]", "all the time"},
		{"never CONDITION [from TIME [to TIME]]", "at no time"},
	}
}

package config

import (
	"errors"
	"fmt"
	"slices"

	"ulnet/cmd/internal/config/tree"
)

// Loaded is a configuration with where its values come from.
type Loaded struct {
	Config
	Sources  []Source   // settings that were given; if a key has several, the last one is in effect
	Warnings []Warning  // about lines of files that have no effect
	Imported *tree.File // content of the file LNetConf, if ReadLNetConf was called; nil: there is none
}

// networkKeys are the keys that say on which networks the node is: one of them discards what the
// others have said before.
var networkKeys = []string{"networks", "ip2nets", "net"}

// saysNetworks reports whether an option, a file or a flag has named networks.
func (l *Loaded) saysNetworks() bool {
	return slices.ContainsFunc(l.Sources, func(s Source) bool { return slices.Contains(networkKeys, s.Key) })
}

// Resolve fills in the paths that the configuration does not set.
func (l *Loaded) Resolve(p Dirs) {
	for _, one := range []struct {
		key  string
		path *string
		find func() (path, variable string)
	}{
		{"state_dir", &l.StateDir, p.stateDir},
		{"runtime_dir", &l.RuntimeDir, p.runtimeDir},
		{"socket", &l.Socket, func() (string, string) { return SocketIn(l.RuntimeDir), "" }},
	} {
		if *one.path != "" {
			continue
		}
		path, variable := one.find()
		*one.path = path
		l.Sources = append(l.Sources, Source{Key: one.key, Value: path, From: variable})
	}
}

// From returns where the setting of a key comes from, such as "lnetd.yaml:3"; "": from nowhere, so
// that it has its default.
func (l *Loaded) From(key string) string {
	for _, s := range slices.Backward(l.Sources) {
		if s.Key == key {
			return s.From
		}
	}
	return ""
}

// ReadLNetConf reads the file LNetConf, if there is one, into Imported. Errors in its sections are
// in Imported, see ImportErrors.
func (l *Loaded) ReadLNetConf() error {
	l.Imported = nil
	if l.LNetConf == "" {
		return nil
	}
	text, err := readUpTo(l.LNetConf, tree.MaxSize)
	if err != nil {
		return err
	}
	return l.readLNetConf(text)
}

// readLNetConf is ReadLNetConf for the text of the file.
func (l *Loaded) readLNetConf(text []byte) (err error) {
	if l.Imported, err = tree.Read(text); err != nil {
		if bad, ok := errors.AsType[*tree.SyntaxError](err); ok {
			return &Error{File: l.LNetConf, Line: bad.Line, Column: bad.Column, Err: errors.New(bad.Text)}
		}
		return fmt.Errorf("%s: %w", l.LNetConf, err)
	}
	return nil
}

// importedSettings returns the settings of the file LNetConf. It leaves out networks, routes, peers and
// rules, which are added to those of other files instead of replacing them.
func (l *Loaded) importedSettings() (list []Source) {
	if l.Imported == nil {
		return nil
	}
	for _, section := range l.Imported.Sections {
		for _, i := range section.Items {
			from := fmt.Sprintf("%s:%d", l.LNetConf, i.Line)
			for _, s := range i.Settings() {
				if s.Name == tree.ShownOnly {
					continue
				}
				key, ok := settingKeys[s.Name]
				if !ok {
					key = "global." + s.Name
				}
				list = append(list, Source{Key: key, Value: fmt.Sprint(s.Value), From: from})
			}
		}
	}
	return list
}

// settingKeys are the keys of settings of a router, by their names for 'lnetctl set'.
var settingKeys = map[string]string{
	"routing": "routing.enable", "tiny_buffers": "routing.tiny", "small_buffers": "routing.small", "large_buffers": "routing.large",
}

// ImportErrors returns the errors in the sections of the file LNetConf.
func (l *Loaded) ImportErrors() (list []error) {
	if l.Imported == nil {
		return nil
	}
	for _, s := range l.Imported.Sections {
		for _, e := range s.Errs {
			list = append(list, &Error{File: l.LNetConf, Line: e.Line, Err: errors.New(e.Text)})
		}
	}
	return list
}

package config

import "strings"

// NoArguments stands for the arguments of a program that are not shown.
const NoArguments = "..."

// RunsProgram reports whether the value of a key is a program with its arguments.
func RunsProgram(key string) bool { return strings.HasSuffix(key, ".run") }

// WithoutArguments returns the value of a key. If that is a program, it returns only the program's path,
// with NoArguments in place of the arguments.
func WithoutArguments(key, value string) string {
	if len(Arguments(key, value)) == 0 {
		return value
	}
	path, _, _ := strings.Cut(value, ", ")
	return path + ", " + NoArguments + "]"
}

// Arguments returns the arguments of the program in the value of a key, nil for other keys. An argument
// that contains a comma and a blank is returned in several parts.
func Arguments(key, value string) []string {
	if !RunsProgram(key) {
		return nil
	}
	return strings.Split(strings.Trim(value, "[]"), ", ")[1:]
}

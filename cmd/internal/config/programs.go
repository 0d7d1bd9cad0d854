package config

import "strings"

// NoArguments stands for the arguments of a program that are not shown.
const NoArguments = "..."

// RunsProgram reports whether the value of a key is a program with its arguments.
func RunsProgram(key string) bool { return strings.HasSuffix(key, ".run") }

// WithoutArguments returns the value of a key, of a program its path alone.
func WithoutArguments(key, value string) string {
	if len(Arguments(key, value)) == 0 {
		return value
	}
	path, _, _ := strings.Cut(value, ", ")
	return path + ", " + NoArguments + "]"
}

// Arguments returns the arguments of a program in the value of a key, in parts if they have commas.
func Arguments(key, value string) []string {
	if !RunsProgram(key) {
		return nil
	}
	return strings.Split(strings.Trim(value, "[]"), ", ")[1:]
}

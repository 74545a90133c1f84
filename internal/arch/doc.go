// Package arch has no code: its tests hold the import rules of the project.
package arch

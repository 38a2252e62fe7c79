package line

import (
	"cmp"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// touches looks for the desk in a command: its files in any word and, if the command is more than
// local, its programs and its port.
func (s *flow) touches(all []workspace.Word) {
	class, changes := s.Found.Class(), s.Found.Without(finding.OnlyReads).Class() >= approval.R3
	for i, w := range all {
		s.DeskPath(w)
		if v := command.AfterEquals(w.Text); v != w.Text {
			s.DeskPath(workspace.Word{Text: v, Kind: w.Kind})
		} else if _, v, ok := strings.Cut(w.Text, "="); ok || strings.HasPrefix(w.Text, "@") {
			s.DeskPath(workspace.Word{Text: strings.TrimPrefix(cmp.Or(v, w.Text), "@"), Kind: w.Kind})
		}
		if s.meansDesk(w.Text, class, i == 0) {
			s.Found.Add(finding.TouchesDesk)
		}
		if changes && i > 0 && workspace.SettingsPath(workspace.FoldPath(command.AfterEquals(w.Text))) {
			s.Found.Add(finding.WritesAgentSettings) // it is not known to only read it
		}
	}
}

// meansDesk reports a word of a command of some class that names the desk. The first one
// was judged as a program.
func (s *flow) meansDesk(text string, class approval.RiskClass, first bool) bool {
	d := s.Own
	switch {
	case class >= approval.R2 && (d.HasPort(text, false) || d.ApiPath(text)):
		return true
	case class < approval.R3:
		return false
	case !first && (d.Names(text) || d.Reads(text)):
		return true
	}
	return d.Mentions(text)
}

// takers are programs that read, change or hand on directories with all that is in them.
var takers = lazy.Words("tar bsdtar gtar pax zip 7z 7za 7zr rar rsync scp sftp rclone diff ditto " +
	"chmod chown chgrp chattr setfacl mount")

// blind are the findings after which it is open what a program does with a directory.
var blind = finding.Of(finding.UnknownCommand, finding.UnknownOption, finding.ProgramByPath, finding.DynamicCommand,
	finding.InterpreterCode, finding.InterpreterInput, finding.RunsScript, finding.RunsWorkspaceCode,
	finding.OutsideProject, finding.RemoteCommand, finding.RemoteSystem, finding.RunsContainer,
	finding.GitElsewhere, finding.InstallsPackages, finding.EvaluatesText)

// listers are programs that tell at most what is in a directory, with any options, or only go
// there.
var listers = lazy.Words("ls dir vdir stat du df file tree find fd fdfind realpath readlink cd test [")

// trees looks for directories that contain the desk among the words of a command that may do
// something with all that is in them. If an unknown command names a directory of the workspace,
// or the one that it runs in, that means no more than no word at all; and it must be known which
// one it runs in.
func (s *flow) trees(f frame, base string, args []workspace.Word, added finding.Set) {
	if opened := s.opened; opened > 0 && program.WrapperNames.Has(base) && base != "find" {
		args = args[:max(0, len(args)-opened)] // the rest was looked at by itself
	}
	takes := takers.Has(base)
	unclear := !f.searching && added.Any(blind) && !listers.Has(base) && !elsewhere(base, args)
	if !takes && !unclear {
		return
	}
	for _, w := range args {
		if w.Kind == workspace.Computed {
			continue
		}
		v := command.AfterEquals(w.Text)
		if takes && strings.HasPrefix(v, "-") && words.At(v, 2) == '/' { // -C/x
			v = v[2:]
		}
		value := v == "/" && v != w.Text
		if v == "" || value && !takes {
			continue
		}
		some, all := false, true
		s.Place.Resolve(workspace.Word{Text: v, Tilde: w.Tilde}, func(dir string, open bool) {
			below := !open && s.Own.Below(dir, w.Kind == workspace.Pattern)
			some = some || below
			here := s.Place.LocalPath(dir) || slices.Contains(s.Place.Dirs, dir)
			all = all && below && !here
		})
		if takes && some || all {
			s.Found.Add(finding.TouchesDesk)
		}
	}
}

// elsewhere reports a command whose words another machine or a container reads.
func elsewhere(base string, args []workspace.Word) bool {
	switch base {
	case "ssh", "rsh", "mosh", "sshpass", "autossh":
		return true
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "lxc", "multipass", "vagrant":
		for _, w := range args {
			if w.Is("exec") || w.Is("run") || w.Is("debug") {
				return true
			}
		}
	}
	return false
}

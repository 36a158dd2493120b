/// The machine's current boot: what a process has written is there until the next one, whether or not it is synchronised.
package enum Boot {
    /// What identifies the boot; `nil` where the system does not tell.
    package static let identifier = Platform.bootIdentifier()
}

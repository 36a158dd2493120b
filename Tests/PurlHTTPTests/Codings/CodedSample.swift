import PurlHTTP
import Testing

/// A body that another program encoded, and its content.
struct CodedSample: Sendable, CustomTestStringConvertible {
    /// The content in a short notation.
    enum Content: Sendable {
        case text(String)
        case words(Int)
        case zeros(Int)
        case noise(Int)
        /// Some letters are as rare as a code can be long.
        case unequal
        /// The beginning comes again 32,768 bytes later.
        case far
    }

    let name: String
    let codings: [String]
    let content: Content
    private let text: String

    init(_ name: String, _ codings: [String], _ content: Content, _ text: String) {
        self.name = name
        self.codings = codings
        self.content = content
        self.text = text
    }

    var testDescription: String { name }

    /// The coded body.
    var coded: [UInt8] { Base64.decode(text.utf8) ?? [] }

    /// The decoded content.
    var expected: [UInt8] {
        switch content {
        case .text(let text): text.bytes
        case .words(let count): CodedSample.words(count)
        case .zeros(let count): [UInt8](repeating: 0, count: count)
        case .noise(let count): CodedSample.noise(count)
        case .unequal: CodedSample.unequal
        case .far:
            CodedSample.noise(300) + [UInt8](repeating: 0, count: 32_468) + CodedSample.noise(300) + "end".bytes
        }
    }

    /// Words in an order that looks like none.
    static func words(_ count: Int) -> [UInt8] {
        let words = "the quick brown fox jumps over a lazy dog and then some bytes are written to disk again"
            .split(separator: " ").map { Array($0.utf8) }
        var state = 1
        var text: [UInt8] = []
        while text.count < count {
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            text += words[(state >> 16) % words.count]
            text.append((state >> 8) % 11 == 0 ? 0x0A : 0x20)
        }
        return Array(text[..<count])
    }

    /// Bytes that have no pattern.
    static func noise(_ count: Int) -> [UInt8] {
        var state = 7
        return (0..<count).map { _ in
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
            return UInt8(state >> 16 & 0xFF)
        }
    }

    private static var unequal: [UInt8] {
        var (count, next) = (1, 1)
        var bytes: [UInt8] = []
        for letter in UInt8(97)..<114 {
            bytes += [UInt8](repeating: letter, count: count)
            (count, next) = (next, count + next)
        }
        return bytes
    }
}

extension CodedSample {
    /// Bodies that are short enough to be cut at every place.
    static let short: [CodedSample] = [
        CodedSample(
            "gzip", ["gzip"], .text("hello hello hello hello!"),
            "H4sIABXNWwcCA8tIzcnJV8hAJxUBQHHlpxgAAAA="),
        CodedSample(
            "gzip under its old name, in capitals", ["X-GZip"], .text("hello hello hello hello!"),
            "H4sIABXNWwcCA8tIzcnJV8hAJxUBQHHlpxgAAAA="),
        CodedSample(
            "empty gzip", ["gzip"], .text(""),
            "H4sIABXNWwcCAwMAAAAAAAAAAAA="),
        CodedSample(
            "gzip with a name", ["gzip"], .text("hello hello hello hello!"),
            "H4sICBXNWwcCA2hlbGxvLnR4dADLSM3JyVfIQCcVAUBx5acYAAAA"),
        CodedSample(
            "gzip with everything a header can have", ["gzip"], .text("hello hello hello hello!"),
            "H4sIHxXNWwcCAwYAYWICAHh5bgBhIGNvbW1lbnQAWh/LSM3JyVfIQCcVAUBx5acYAAAA"),
        CodedSample(
            "gzip with an empty extra field and empty texts", ["gzip"], .text("hello hello hello hello!"),
            "H4sIHhXNWwcCAwAAAACsVstIzcnJV8hAJxUBQHHlpxgAAAA="),
        CodedSample(
            "gzip with a header checksum alone", ["gzip"], .text("hello hello hello hello!"),
            "H4sIAhXNWwcCA0E0y0jNyclXyEAnFQFAceWnGAAAAA=="),
        CodedSample(
            "three gzip members, one of them empty", ["gzip"], .text("hello world"),
            "H4sICBXNWwcCAzEAy0jNyclXAAD2+YHtBgAAAB+LCAAVzVsHAgMDAAAAAAAAAAAAH4sIABXNWwcCAyvPL8pJAQBDEXc6BQAAAA=="),
        CodedSample(
            "gzip with zeros after it", ["gzip"], .text("hello hello hello hello!"),
            "H4sIABXNWwcCA8tIzcnJV8hAJxUBQHHlpxgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="),
        CodedSample(
            "gzip with half a signature after it", ["gzip"], .text("hello hello hello hello!"),
            "H4sIABXNWwcCA8tIzcnJV8hAJxUBQHHlpxgAAAAfjAg="),
        CodedSample(
            "deflate", ["deflate"], .text("hello hello hello hello!"),
            "eNrLSM3JyVfIQCcVAXDVCNI="),
        CodedSample(
            "empty deflate", ["deflate"], .text(""),
            "eNoDAAAAAAE="),
        CodedSample(
            "deflate with a small window", ["deflate"], .text("hello hello hello hello!"),
            "GNPLSM3JyVfIQCcVAXDVCNI="),
        CodedSample(
            "deflate with something after it", ["deflate"], .text("hello hello hello hello!"),
            "eNrLSM3JyVfIQCcVAXDVCNINCg=="),
        CodedSample(
            "deflate without its wrapping", ["deflate"], .text("hello hello hello hello!"),
            "y0jNyclXyEAnFQE="),
        CodedSample(
            "empty raw deflate", ["deflate"], .text(""),
            "AwA="),
        CodedSample(
            "stored blocks", ["deflate"], .text("hello hello hello hello!"),
            "eAEBGADn/2hlbGxvIGhlbGxvIGhlbGxvIGhlbGxvIXDVCNI="),
        CodedSample(
            "stored blocks without wrapping", ["deflate"], .text("hello hello hello hello!"),
            "AAwA8/9oZWxsbyBoZWxsbyAAAAD//wEMAPP/aGVsbG8gaGVsbG8h"),
        CodedSample(
            "fixed codes", ["deflate"], .words(200),
            "eAFLyU9XSMkszlYoyVcoLM1MzoaSxfm5qQqJXGn5FQpJlSWpxQolGUB+UapCfllqEZIQmAtWDDQAiBLzUhQSFZKK8svzQPJ5YDku"
                + "iAQXRBvITLA2sHx5UWZJCYLmApuVAnMVWDdCcU5iVSXECi6IFTDdiQAj20fr"),
        CodedSample(
            "dynamic codes", ["deflate"], .words(600),
            "eNpVUlsSgjAM/O8pcrVgEStCtRQRT2+zC9M6AyXPzW6Dj4P4sIySo7zWcBmPc4lTL+qu8SPdnvtF8q34qZf47lMTgoviAlAenb2o"
                + "dClus+Vn5BwTjm2GiTbktxRyrl8HLH+yQnctfuh35wjHEWe3xQyX5Nso8Fh8sI503X2dnovooKFUCj2TxCEIE84CzrTjPSvjIYeV"
                + "4MhMe3Kwkr1SE0ENqwWgzRxtIoBNbdFWEMy6IhJPuD5n2qkTYawPu6n1aD/vCgKsEVRbHtxIYY6/ARJwkB9MQ/5f5A9dGNl6"),
        CodedSample(
            "dynamic codes without wrapping", ["deflate"], .words(600),
            "VVJbEoIwDPzvKXK1YBErQrUUEU9vswvTOgMlz81ug4+D+LCMkqO81nAZj3OJUy/qrvEj3Z77RfKt+KmX+O5TE4KL4gJQHp29qHQp"
                + "brPlZ+QcE45thok25LcUcq5fByx/skJ3LX7od+cIxxFnt8UMl+TbKPBYfLCOdN19nZ6L6KChVAo9k8QhCBPOAs604z0r4yGHleDI"
                + "THtysJK9UhNBDasFoM0cbSKATW3RVhDMuiIST7g+Z9qpE2GsD7up9Wg/7woCrBFUWx7cSGGOvwEScJAfTEP+X+QP"),
        CodedSample(
            "several blocks with flushes between them", ["gzip"], .words(500),
            "H4sIAAAAAAACA0xObQ6DIAz931O8q+FgStxoBlXnTj9oNZCQkvfZep7hY1khjM8WH+s1C78DHD35i+mUUCBLxTmA95AHSqGaa0F9"
                + "Lnk4TJmP1PSkGplAFmudGlP9yFGk/6Rd/r5K0938cr/TVpCtuNONa712/Mhqn5mvq9ngHwAA//9Nj1sWgjAMRP+zimwt2AAVIdKC"
                + "iqu3eXDko+1kMrknhfs+PyvSQHlBQq+2kfFB3yPsdc+3yQygwmjnTAp0x8YnQF5conO9uyJvpTeuPinXKaDKugJce8+1E2yb/whh"
                + "lZmDa7KXTwz44i2UZABakqfAbP2YWtTyP8fiaEr0AQAA"),
        CodedSample(
            "a partial flush in the middle", ["deflate"], .words(300),
            "eNpMjFEOgCAMQ/85Ra8GgkqILI4penthmGiybGnfWk8LfCwJQtiPOKV3F9oCrJnpgrslFMjaNAfQGfhnqdTnVtDGZg8Lx1Rz51mZ"
                + "GcCMWO/UmPLKUeS7RrseAZYCcxVYN0JxTmJVJcQKLogVMN0gMZC5EMcji4LNgyiGujofwuXKKs0tKFZITE/MBKpUgPBAXoJYAhaG"
                + "GAcS4AL6HQB97Wx+"),
        CodedSample(
            "literals alone", ["deflate"], .words(200),
            "eAEFwVEWwiAMBMB/TrFXA1mFV8m+JrFYT+9M1wt9xoEUzs98HDg/83EgtIhanvqi3clADqI6oYuOdicDOQhddIQWkUIK1Toqmmsb"
                + "ctAQWiwpVOul3cnAU1/ooiMHDdtnJg3bZyathBbR9UKfcSC0WHTRkYOGd/3dqNZRS3Ntw/aZSUP9AyPbR+s="),
        CodedSample(
            "runs alone", ["gzip"], .zeros(1_000),
            "H4sIAAAAAAACA2MYBaNgFAx7AACAFwsG6AMAAA=="),
        CodedSample(
            "bytes that cannot be compressed", ["gzip"], .noise(100),
            "H4sIAAAAAAACAwFkAJv/bE50khMlIi4xoc0TvhLtQmlmziT8I9fajSCXYWoGlW7CitQDE2go1FcePF3ubl7ASpERX107UT7CU6QW"
                + "rW7lOJQR0Ciao0z1wDR8WcrwhJXzYRsLUGjVmAT5LrcpmVVXeZm+eNf7LmVkAAAA"),
        CodedSample(
            "two codings", ["gzip", "deflate"], .text("hello hello hello hello!"),
            "eNqT7+ZgED0bzc7EfNrj7MmT4Scc1EUZHQqfLpdgYGAAAI69CV8="),
        CodedSample(
            "three codings", ["deflate", "identity", "gzip", "deflate"], .text("hello hello hello hello!"),
            "k+/mYAABJubVO0pvPX5zcvJDdZkrrpLc64pimBhElFykBYGyAA=="),
        CodedSample(
            "no coding", [], .text("hello hello hello hello!"),
            "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8h"),
        CodedSample(
            "identity", ["identity"], .text("hello hello hello hello!"),
            "aGVsbG8gaGVsbG8gaGVsbG8gaGVsbG8h"),
    ]

    /// Bodies that fill windows and tables.
    static let long: [CodedSample] = [
        CodedSample(
            "codes of up to 15 bits", ["deflate"], .unequal,
            "eAEFwUGC20AMxMC3Jtm1pRmyG/j/JVV//v779/Pz8/v7+/v7+Xw+n8/n8/1+v9/v9/v9fr/f53me53me53me53me53me533f933f"
                + "933f933f933f933f933f933f933POeecc84555xzzjnnnHPOOeecc84555xzzjnnnHPOOeecc++9995777333nvvvffee++99957"
                + "77333nvvvffee++9995777333nvvvffee++9995777333ntnZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZm"
                + "ZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZ2d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3"
                + "d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3d3dzdJ"
                + "kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJ"
                + "kiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRJkiRt27Zt27Zt27Zt"
                + "27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt"
                + "27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt"
                + "27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27Zt27YtAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAoKqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
                + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
                + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
                + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
                + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
                + "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq6n9eqBsk"),
        CodedSample(
            "a match at the largest distance", ["gzip"], .far,
            "H4sIAAAAAAACA+3B6Su7AQAH8J9N82KFWWki5D4nmiLLC0TNfSUxUj/L8XjKkjsrkbmaM4YpzbslXmgozeyd5Yo5HufIQ5g7V6N+"
                + "/8ev7+dDpNUMcH29+OFTG1yd00NcuWTT58f74KjXc6SkgjVMGrpMTG5ZgCnPXSh+JIv0on5OsTgmM9aQPe08Q9JRQ5ztgDF1yrte"
                + "0JxvfG4bfitxZWeU7Y3afvMXApW5eQ1KXb3eUdLBUNIyYidy2apIUD1exlxY1ntW3ld0BvbxV+UEnd6utdtKvBUlB1lNtCL9opDj"
                + "1MpTB/M+peeKvcakgrOrGsGgX2G/iuq+zsnvUjl42JuCTs0nh0V95Iwbpbmb3D2Sjx6bmatxLffSxdQQZl0Tjw6Lj5bN8yljBTtV"
                + "Q8yyuLKqXGopxybrJbhbS4cKI/jtb+tX8jkrZ/6csU+UOhZXEy5yzydpCmkb9qq2CD+ok9hFQaf/zVntuGbtl/UHAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD+W0RazQDX14sfPrXB1Tk9xJVLNn1+"
                + "vA+Oej1HSipYw6Shy8TklgWY8tyF4keySC/q5xSLYzJjDdnTzjMkHTXE2Q4YU6e86wXN+cbntuG3Eld2RtneqO03fyFQmZvXoNTV"
                + "6x0lHQwlLSN2IpetigTV42XMhWW9Z+V9RWdgH39VTtDp7Vq7rcRbUXKQ1UQr0i8KOU6tPHUw71N6rthrTCo4u6oRDPoV9quo7uuc"
                + "/C6Vg4e9KejUfHJY1EfOuFGau8ndI/nosZm5GtdyL11MDWHWNfHosPho2TyfMlawUzXELIsrq8qllnJssl6Cu7V0qDCC3/62fiWf"
                + "s3Lmzxn7RKljcTXhIvd8kqaQtmGvaovwgzqJXRR0+t+c1Y5r1n5ZpeTff/ClsWMvgQAA"),
        CodedSample(
            "a page of words", ["gzip"], .words(20_000),
            "H4sIAAAAAAACA32c7Zbjxg1E//dT6NVor+zZOB4m2nUc5+kjNhqoW2iuz/GOZySK7A+gUCig9eX89fHl67ffHt/Px7//+Przb+vn"
                + "t/P35+MYv5z/ffz01/fnt8f3j/ffr+fj/M/zhZfmn/Pi9w3e/x2fXx7H46fX+efn9f7nfG/EGyM+dt1zfmy+/+fr6/fv+v+Y9/qS"
                + "o5qf1sX/PP73VzxixCPy09dr131j8Hx13i8uXqM+48/xjz9+/9e3x/Hr8fV95SP+uqYUD5kvx+2uF8Y19/kvrzzXdOLKOcZ4hz/j"
                + "wUeM/og5xU2ve/EG8Xu8F7/HHeZo9JGDE5q/aoti4K+5fOOae8xzvjy3b+6Nrp8fz7WaE7g+OIfKccSOvEc+rWFOYf6I8c1frzu3"
                + "jZx7eH0gptcW9jBjuy6Nu6UVHDGeutf19PfG1ca+Jwk7vR4TK/x+fc70esiIK+aNriumLc01eF8VJqupaqRrrWPU53yDOzr3DfaT"
                + "Q1rvXvccmwWtTVkXzRHF21ysY7pJLM/8OW9TU4aVyNI1Jk0j3YU2GVsfa7RW4Lqi2cK8x2UA61NmIOat8f5ctNdzfAGIyD5ildbe"
                + "YIFtWoUR8VsMZnnNNPfrc7l7ZTzzspGQdHk0PObItZKPwBJinPNZ8/20+xhW7cC8zHyjGUtdbl58OVDdMVzD9tmM0fYw7iI4zXXD"
                + "QsUzYyFeT+xsefhEqvrESazghIYWeFrA/Gve5Br2HEMMbc75mmQZWN4cAHHtwwj0n8+r3eRIaphhFRkxYnVgbdM6sX2FHp8BTHLH"
                + "tUDDhidLKjz/LMS3lTYrjLcJetO21vp1mF/eQzcPwDHrjc1gGEhYjpWmgYXjRWhV6IzbTWigw61Imw63rroQco3l/YjaR5kMATc9"
                + "Z15avhrLXK/NR46acf6znZ3v6kFrGeJmSShqm4F79dp7RgOmHy/K1+fjw1osICQQXPNc+/NAfKhIr/hSLi4rjEUD/s+fjDkKqe2O"
                + "Cehzc94IOPdL0He9vOxS4Q/xo+ArbYWgzNewqliadXsgknMZQLpushiS8C+xqAgC0bjYV71xPTFMAnbf0D6e8DbzuDCZ0kPLwzB2"
                + "8ONlAyPHvy56PRuNuFwvLozpLpsk6xuAtATqtXFJVmfQksMIQq7tTCMdR8U4rYXZflFii60x1c5RLRIQ3hSGEa2Tv1X0FGxMF1xo"
                + "tYylgv4MSQcjXC42HAw+UOv7ft5aAFKksh85+bqroics09CiIkpYQDirHA/+wxgFb/t4Kto1Zk/fvcZ4GQXDSJrGhDNnauHq5Nsy"
                + "9poumSYChhFC8Qnwi9gIXobd0qpcn6pNVdC71qOzDpj+D0jW29QYuxYnKmNMKoIsYiKKh0hB6R1Ot2ic5uQWvuwvXYGMPV+ei1GT"
                + "xggAOIgNtmngs1zlcsFCAsNEbg538qPblAwYrjVIDQQZyMpwe6G8+zwuEeIUocO0tNsJ5Ss0pBsxE8FUw3G0CpY3eVB01Orbs/C7"
                + "/FJ4VGGgTFerAZcrpsPQlbceSU0qSMZo8vbzPjW5oZB0h9O0eNgikCTsypiQ+NKaZMgTEVUYpSu0pMtdA2oJZbLpfFhlHrS/+QAm"
                + "Uvm0T3GzId8zGaSMKl8NnngDVy5tzBDM1JJxazC6TndcWb+PoOJl0YQZc2vwQJ/r80Ji55OL60hIiR8ZcfziIS6bgLMiYSDLOEbF"
                + "lM35YrnF5pojvlwVyAE4gMk2EhXL52riC3XKXZZtJD/4Uebnux7OUSA7tF4zayh+luvaboblnEmFHHqN/SFOp43GugE7aKyUdFqu"
                + "KmesnRlKLswVTEHRg4Qip6iBhkQCVCyXoFJe6ul+hQtutUyUOV9A6U4YRYFGpSyWCiAqi6uRAeMCAFDneBUbkfUiKnBWGLvMFPQL"
                + "iKcgAtRKE047Fz+C9yJdlVcwXCJrLtgvi1ivr0ixhZSFVdfb1/NbchYUO9ShNH89c4jxe8K8JZKl+NUiHRYylIGdgkelPwgxr2df"
                + "6Rk9pxf2jMdS7EymHUoEA8HGllOJdrynDYXA+NtuA7yo3Hu+X6QzNZVRkQGbXDwbWw6ZxIlQkMFhTraAjZBRQL5J97GHYFxixkSb"
                + "WsrUupINDDqbsgb+lB4imzUvzIAIDDxAsmORkLUm9TT2n95TNOaxlR3GkeRZ9krscGxSBn7Cb4MD1G6K0BoDKa5Ej+0MUu6S9qd4"
                + "Y7Hw+mdbnK8ClnyyLAy9fPG4J3DRDDoDHEWo4ZrJcP5TpiA/Zjbb4c/ErJl6KFK9XUJQKCz+eFaGfozMJ8psEMhEaaEoN0wLvYMZ"
                + "Vz0SbhCZJxbDVHBhlRbWcpO24wOu446MpCCU002KK7sSl1weIeKpStwCD9HoCVwaZYu/l4kiu95SmwZ2m8J9iK2Qq4rTo9by+TD1"
                + "qlgrVNxFH1nzaAq85eo3kZ52IJoKRxETCbMA56pkWNY6mor5stLY/PUO3kir5HSFGCiaKBZ6kakQJrXJ5XkTrmV+Bx5qau9RHMzS"
                + "TuUOiWq1oMOevRm9Sh1Av/dalTISXEEuXhAbY15BfV5kYleG/O67imHIXK/khlrMqCpkbchoprbXeIvo3BS1ET8UuMsjPaWiraF8"
                + "swrIAnNDdA8lNsM2hLPYPDYZsohcAYnCtBIvrhXEHaOUT5qpqMpdTJWzZYTVDIpQJ5I6nzdEzKCNaCkzcZ32/YwyfRXk4ajHoxU+"
                + "kTPkvpaVaKQg1QL5IsXl4L0CmVx1o2IlsUi5z6A81kxHPoJ6PoIGt78lodGHsWq2g1pahmqSxnDv7jN75aoyqKomgOC17g0Bs0FD"
                + "zfa6xXKKGyltbCR7eN5FBMpCQWfLEp5emRStuENGIVxeqZsANrPQiUEZIUV8rfJjuNAHUhHtiPrVcWe6GGH57pY7ZrAexaMdbKW6"
                + "9Nq4cRBQ48aZEJ2PtAy2fSi7uIH8OTXSc4paUnp4L9eXlH7edNeYqK7lWHFNmnit3upzOBHKXG9LglifICDQm6I1SLbnW++FrVYn"
                + "mpFVGzy4MYAlL2c8PDTdLHUxWSRLXPW2ZhAlP52boqobVGEBjtZTCj6q9jMWFzCZhYE0qJNoFVB1B91x457omXrZnkCPkH7QGm70"
                + "Q0jZOtimhOt4wsICffA0ppFBwrnoiko/EBezdKEsglhkrhDaf2lsKVsb41mpB8qkbMeAim1p2nJkiASjpZmHogKQZpMLobn8oHQm"
                + "H5EVzvR5l2GZSVAa26NG5ateIC2LQavIadRKBLpaw1poISG1BBcL+kF0sI8X3vamjpv64MllUjLuOs6NmnyOanAs8Payo4aZYQiy"
                + "+o2eIl/YscakWymyRwvT0LQMTva+lkzVk7VFdqzYpZrE8FBKCrg6DYpwDZKys+5r5TMAR8rlRni8R2GrKFbO0hP2O/PQdsrsacZU"
                + "S04u68I/VhfP9B4kirLjFndWC4LymgSqwYaOnL+G6ru5ic2q39bjq+dNMj9S/uK+TOJPZuS2uoO9LY2Gi6YTl0/dRz2gJ8Q6GVqN"
                + "7Lb1b6269bChrU9tbUVYe8mp8g8ZKZqXvcdqNIXfQoipkw4s4HZo2Xg9e98qxVzllRLlnS5vrDBVk670m7i3devNq6u6H+QIFeJq"
                + "3zma/XtkGth35DMtMGZH65pTpaevp6dOG6lM1wLDJwPTqiYCaEt+0OmzdZ4Bz+9Vb7lRTq4Ig1Ucl38O1OJrGtb0CwsT70FAEchV"
                + "REGDW2lKvQdCTfjFW9AKkTl12u4t4d0647vJds1NUuULxoSeQG+My6re2tVUA1rN0Vq4a7pmE6wUmoyEhGBhlKP7MqYclXoGrX1r"
                + "b/DZGlPyrEQ12++doi5mSIUpmrD4Ym8duDXQRVAXPeL81fMf3kXeEf45jlV2TgC2bmNXcuTKqOSeQAvuS+IKHFNczIrNh2QiKput"
                + "36kW6obfAYNZbQ8rm1kP6y7lZ7EmTRX2IwNTJi6uJTc6su5XPc1bz3u2bq0nbnXxes7WhBSrJVC4ix9IsnAex5Oa9xBRa0AX223n"
                + "Z5EteHo7AKR4qo+pn+2jldj3kpka7kEBpKh4SwfYkXyjdI06QzMkTbyerSvo6M2nBLitSdgfuJ/kGexrKm/xPi/xdqx5658/ZIrT"
                + "NesIwi14bdzb1PVcjEEJTQ6JT8wo3pVowtFg01N1Eyp94s2MClqPGUhrk56GVStW0ggpq6eGw8N6O7MCaQUP9mu6hDmZN5MQVixF"
                + "i6xq/LrVPVhDVXGBiuVNMqEkNh6ONt3sH6I2YA20VjAVJzZdBi0xZaQ3QxpW54fjGU9qp83Svt1hcKnggUljTaR1JrCjT+cM6HEF"
                + "K0B/9mRQJaJ3YJH16cQDVZIEeKgDXC1Yo1MGksKlpNQ5yY92oIsJ1tnqIZ594xwIPn8X3BXCMd7ana1l088BLioBqoVS3QbVcwEi"
                + "7WpqDEEu80weZoHAW26EdgQjBtzFJs4xKRInFJ2ok2RdtxubQPrZFZ0I6EN9NirZLUT2cz/Yro+tQLJB4WFHh7xxuXWaH9lCO0SF"
                + "cj9VsizPsaLtOLwqtLIXIHpr1JOO65vQyMTLZFekD+243wWfLxxtcbP4vG89LdH75jRi5vPW2tsnkoIYnFnx2oNDCUgpSFnJ5tgP"
                + "6py3JzZ0/gEpPXyNXe5D7L5Lbr3XrJUbV/zbFfZi3CUuY1fTh0kuS6Hc2hCdM5iHDLZVTOOaJgzC3sN8P36QYjWzFjWWNJlNzaAq"
                + "lfcEu0i+aYN1C+9JbBVqBTZIVGW1sFTYeFUD5GV38ll5JfsFa6wVXkWD2YJkZxb90Uzs9mwXp/bXY0Zp+J6JHtV/cCr09zTOpfKK"
                + "oQN6lo5XTUvox05xNIj9V03orzVcaLeGlg7YzsQPP9CHsl/FLBhcHdq2jqAKDrU0AETjNlTD6pTd35iDsl7lTc4xmYHN+bTTOdvB"
                + "fGaaeQyzJ9vqA1VLIaJ/bVNVv9WSotbw8/ZU39GieNnYKNW1wuROiVtM7brhTa/+NORmPXQxmBOVVGnAOJWQmVM/CtHO7nxCY9gY"
                + "Re9WGNt5deqQ8XtGfSOhPDvWT3uhoioEMM2jZM5sSzl7gyGXXDNDcUWtAK/nzWHPXq/0g6C3EZ9dNClOVILplkeG2tvLl7COsy/b"
                + "kVH5QRmrj+3adWjGr72+b4fuUcaKFbJRouke6HP7hQjWLDTStew8iCWaPG01GnMcJlMrS1q1sFa697N77SieSXtbyxCLKFIPm4i7"
                + "99Vly9fIPHE9CDvBAN2OF+9naEXMWnFv2k9JUq0/qp3+OIx/07OMOliD3NbaBLmmvnlCRdbW96GtG5WDtG+qcNW9WWNXDgHUBVSs"
                + "gIEewiYzPfWcr+WLJX/VGa7dD/f+k4I6xwcLgumAXWZG7Yz9fO24a/bteRuKZZrJUhWJUN52h+x6MssNYr65CWMrLbE1tjUr4ets"
                + "FhXYvyxpfSuEH8yr9l+IQPjSgteeonOfA5lAZqxnamyt+qKu+xc0+KkYleAGTKe36O/Vinb6h/TYG37tZK5ViVp2N1wHUE9Eay9H"
                + "vMEZghP+5TX5UuxPQigS3pMS1ej5GRX1qNm+nq0Jzw7kt/7C3rslyYPdBzhox46eHnf8XP7Rz8KjAbAdv0Mk8TC+d3m24mBrMtRJ"
                + "JoYNP0TZOgeKGw7POayUpmwn/fy2V9ubw/r3JOkU6p7TLyIG3lkRUOXbCFkbV0VXaz/V6l9G0rgdlPA0yaRtwuwojiPgkT72k+54"
                + "eqxr7esqg0NwZ7tObpB/NwOgCE5V3/1l5yj/D3GG+RcgTgAA"),
        CodedSample(
            "the longest matches", ["deflate"], .zeros(300_000),
            "eNrtwQENAAAAwqD3T20PBxQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
                + "AAAAAAAAAPwYlBwAAQ=="),
    ]
}

// SPDX-License-Identifier: MIT
// Some floats converted by other programs: gguf 0.19.0 (Q8_0, Q4_0) and torch 2.15.0 (fp8, of clamped numbers).
#pragma once

#include <cstdint>

namespace cordage_test::golden {

// clang-format off
inline constexpr std::uint32_t inputs[] = {0x42fe0000u, 0x3f000000u, 0x3fc00000u, 0x40200000u, 0xbf000000u, 
0xbfc00000u, 0xc0200000u, 0x3effffffu, 0xbeffffffu, 0x427e0000u, 0xc2fd0000u, 0x0u, 0x3e800000u, 0x3f000000u, 
0x3f400000u, 0x3f800000u, 0x3fa00000u, 0x3fc00000u, 0x3fe00000u, 0x40000000u, 0x40100000u, 0x40200000u, 
0x40300000u, 0x40400000u, 0x40500000u, 0x40600000u, 0x40700000u, 0x40800000u, 0x40880000u, 0x40900000u, 
0x40980000u, 0x40a00000u, 0x3aa13d19u, 0x3e98f52du, 0xbe8c5bccu, 0xbf63fdd4u, 0xbee8ca9cu, 0xbf7ddc8cu, 
0x3d765923u, 0x3fab8c2cu, 0xbefc027eu, 0xbf1ed771u, 0x3efacc94u, 0x3eb6b9e5u, 0x3dd7e36du, 0xbf6e3327u, 
0xbcefa185u, 0x3f31ff64u, 0xbfac0f39u, 0xbeea4c9du, 0xbff35b44u, 0xbfa50f93u, 0xbfebbdf9u, 0xbe70bbbbu, 
0xbfa23bb0u, 0x3e8ae329u, 0x3e20835bu, 0xbe3f6ad3u, 0xc0211297u, 0xbf09e7c7u, 0xbd46a8edu, 0x3de80e8bu, 
0xbfc3db7du, 0xbef49c14u, 0xb58355a9u, 0xb5591edfu, 0x358e6433u, 0xb558c55cu, 0xb30badfeu, 0x356d66cfu, 
0xb51ca8b7u, 0xb3efe0ccu, 0x33ed384eu, 0x3388f867u, 0xb5a46c99u, 0x33a38289u, 0x35b660d1u, 0xb5cfa77du, 
0x3566b054u, 0x340027c9u, 0xb52c3183u, 0x36063ee5u, 0x354c9e17u, 0xb5a0f741u, 0x33a005bbu, 0x351acdceu, 
0xb44ab409u, 0x3537513cu, 0xb38ed849u, 0x35331ce7u, 0x35c11343u, 0xb5355f28u, 0x345a1e51u, 0xb4f8bc82u, 
0x3408a746u, 0xb59f57b2u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 
0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0x0u, 0xc32dca5du, 
0xc26b6f67u, 0xc386d088u, 0xc3abc886u, 0xc3c68778u, 0xc36e6489u, 0xc342122fu, 0xc4156e76u, 0xc30af372u, 
0xc1e97d16u, 0xc3bc8d60u, 0xc34ed238u, 0xc2c453fbu, 0xc2dd2542u, 0xc2961e03u, 0xc3e48787u, 0xc3006851u, 
0xc2b6354fu, 0xc2d38daeu, 0xc210ecaeu, 0xc26cbdb7u, 0xc3a71c2eu, 0xc05d3652u, 0xc305130au, 0xc3aeeb4eu, 
0xc343ed32u, 0xc0e7c758u, 0xc34883aau, 0xc2cbebf7u, 0xc39dd1a7u, 0xbfcf57d7u, 0xc32f03c4u};
inline constexpr std::uint8_t q8_0_bytes[] = {0, 60, 127, 1, 2, 3, 255, 254, 253, 0, 0, 64, 129, 0, 0, 1, 1, 1, 1, 
2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 19, 37, 0, 15, 242, 211, 233, 206, 3, 68, 231, 225, 25, 18, 5, 209, 
255, 35, 188, 233, 160, 191, 163, 244, 192, 14, 8, 247, 129, 229, 254, 6, 179, 232, 0, 0, 194, 205, 67, 205, 254, 
56, 219, 249, 7, 4, 178, 5, 86, 158, 55, 8, 215, 127, 48, 180, 5, 37, 244, 43, 252, 42, 91, 213, 13, 227, 8, 181, 
0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 181, 68, 219, 
243, 199, 183, 172, 205, 215, 129, 226, 250, 176, 212, 235, 233, 240, 159, 229, 237, 234, 248, 243, 185, 255, 228, 
182, 214, 254, 213, 234, 189, 0, 219};
inline constexpr std::uint8_t q4_0_bytes[] = {240, 203, 128, 136, 136, 136, 136, 136, 136, 136, 136, 132, 143, 136, 
136, 136, 136, 136, 9, 53, 72, 121, 39, 69, 39, 117, 72, 156, 134, 118, 10, 105, 136, 133, 56, 106, 4, 128, 188, 
11, 84, 219, 136, 100, 154, 88, 136, 88, 45, 184, 115, 174, 117, 216, 0, 128, 136, 136, 136, 136, 136, 136, 136, 
136, 136, 136, 136, 136, 136, 136, 136, 136, 171, 84, 102, 119, 116, 131, 115, 69, 133, 96, 54, 88, 131, 85, 119, 
71, 135, 98};
inline constexpr std::uint32_t fp8_inputs[] = {0x3d498c5fu, 0x413f3278u, 0xc12f72bfu, 0xc20e7ea4u, 0xc1917ea2u, 
0xc21ea9d8u, 0x4019f7b6u, 0x42566f37u, 0xc19d818fu, 0xc1c68d4du, 0x419cbfdcu, 0x4164685eu, 0x4086ee24u, 
0xc214dff8u, 0xbf95c4f3u, 0x41de7f3du, 0xc2571307u, 0xc1926fe2u, 0xc298190au, 0xc24e5378u, 0xc29356bcu, 
0xc1167555u, 0xc24aca9cu, 0x412d9bf3u, 0x40c8a432u, 0xc0ef4588u, 0xc2c9573du, 0xc1ac61b9u, 0xbff85328u, 
0x40910917u, 0xc274d25cu, 0xc198e18cu, 0xb8242b13u, 0xb807b34bu, 0x3831fd40u, 0xb8077b5au, 0xb5ae997eu, 
0x38146041u, 0xb7c3d2e5u, 0xb695ec80u, 0x36944331u, 0x362b3681u, 0xb84d87bfu, 0x364c632bu, 0x3863f905u, 
0xb881c8aeu, 0x38102e34u, 0x36a031bbu, 0xb7d73de4u, 0x38a7ce9eu, 0x37ffc59du, 0xb8493511u, 0x3648072au, 
0x37c18142u, 0xb6fd610bu, 0x37e5258bu, 0xb6328e5bu, 0x37dfe421u, 0x38715814u, 0xb7e2b6f2u, 0x370852f3u, 
0xb79b75d1u, 0x36aad118u, 0xb8472d9eu, 0xbc537ffcu, 0x3b633342u, 0xbc8a4c35u, 0xbca6bbf0u, 0xbb478abeu, 
0xbc1371b3u, 0x3ad706fcu, 0x3cb7e3f5u, 0xbc0844ffu, 0xbbcc742eu, 0x3b069d10u, 0x3ba18cf4u, 0xbae7380eu, 
0xbb06f560u, 0x3be62eddu, 0x3baa5d04u, 0xbc295b81u, 0xba4f91afu, 0x39b90134u, 0xbc2cc44au, 0x3b2a49c4u, 
0xbc0c914du, 0x3c1f436eu, 0x3afca2cbu, 0x3a6a1c92u, 0xbbc1ab0du, 0xba9b76dau, 0xbca3a7c7u, 0xbc395eabu, 
0x3b6dca6au, 0xbcae5f49u, 0x3c0ab556u, 0x43e00000u, 0xc3e00000u, 0x3b000000u, 0x3a800000u, 0x3b400000u, 
0x47600000u, 0x37800000u, 0x37000000u, 0xb7c00000u, 0x0u};
inline constexpr std::uint8_t e4m3_bytes[] = {21, 84, 211, 225, 217, 226, 66, 101, 218, 220, 90, 86, 72, 225, 185, 
94, 229, 217, 234, 229, 233, 209, 229, 83, 77, 207, 237, 219, 192, 73, 231, 218, 128, 128, 0, 128, 128, 0, 128, 
128, 0, 0, 128, 0, 0, 128, 0, 0, 128, 0, 0, 128, 0, 0, 128, 0, 128, 0, 0, 128, 0, 128, 0, 128, 135, 2, 137, 138, 
130, 133, 1, 11, 132, 131, 1, 3, 129, 129, 4, 3, 133, 128, 0, 133, 1, 132, 5, 1, 0, 131, 129, 138, 134, 2, 139, 4, 
126, 254, 1, 0, 2, 126, 0, 0, 128, 0};
inline constexpr std::uint8_t e5m2_bytes[] = {42, 74, 201, 208, 205, 209, 65, 83, 205, 206, 77, 75, 68, 209, 189, 
79, 211, 205, 213, 210, 213, 201, 210, 73, 70, 199, 214, 205, 192, 69, 212, 205, 131, 130, 3, 130, 128, 2, 130, 
128, 0, 0, 131, 0, 4, 132, 2, 0, 130, 5, 2, 131, 0, 2, 128, 2, 128, 2, 4, 130, 1, 129, 0, 131, 163, 27, 164, 165, 
154, 161, 23, 38, 160, 158, 24, 29, 151, 152, 31, 29, 161, 146, 14, 161, 25, 160, 33, 24, 19, 158, 149, 165, 162, 
27, 165, 32, 95, 223, 24, 20, 26, 123, 1, 0, 130, 0};
// clang-format on

}  // namespace cordage_test::golden
